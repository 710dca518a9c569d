"""API keys: their format, their stored hash, and the file that stores them.

A key is `gt_<id>_<secret>`. The file stores, for each key, an HMAC-SHA-256 of the whole key with its own salt. That is
enough, and a slow function such as scrypt would be wrong: only `new_key` creates keys, with 256 random bits, so
guessing is infeasible, while a tenth of a second of CPU for each request, valid or not, would allow denial of service.
The invariant: a key is found by its public id and compared in constant time, and an unknown key costs as much as a
known one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime

from graphtide.services.access.policy import Action, Allowance, Principal, Quota
from graphtide.streams.errors import Broken

PREFIX = "gt_"
GRAPH_PATTERN = re.compile(r"[A-Za-z0-9_.*?-]{1,128}")
KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")

_KEY = re.compile(rf"{PREFIX}([a-z2-7]{{16}})_([A-Za-z0-9_-]{{43}})")
_HASH = re.compile(r"hmac-sha256:([0-9a-f]{32}):([0-9a-f]{64})")
_ID_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_FIELDS = frozenset(
    {"name", "id", "hash", "graphs", "actions", "created", "expires"}
    | {"requests_per_second", "burst", "max_body_bytes"}
    | {"max_documents", "max_bytes", "max_graphs"}
)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One entry of the key file: everything except the secret."""

    id: str
    hash: str
    who: Principal
    expires: datetime | None = None


def new_key() -> tuple[str, str, str]:
    """Return (key, id, hash) of a new random key."""
    key_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(16))
    key = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
    return key, key_id, _hashed(key, secrets.token_bytes(16))


def _hashed(key: str, salt: bytes) -> str:
    return f"hmac-sha256:{salt.hex()}:{hmac.digest(salt, key.encode(), hashlib.sha256).hex()}"


_NOBODY = _hashed("", bytes(16))


class KeyRing:
    """The keys of one version of the file."""

    def __init__(self, keys: Mapping[str, ApiKey]) -> None:
        self._keys = keys

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: str) -> ApiKey | None:
        """Return the entry of the key, expired or not; None for an unknown key."""
        parts = _KEY.fullmatch(key)
        entry = self._keys.get(parts[1]) if parts else None
        kept = entry.hash if entry else _NOBODY
        salt = bytes.fromhex(kept.split(":")[1])
        same = hmac.compare_digest(_hashed(key, salt), kept)
        return entry if same else None


def looks_like_key(secret: str) -> bool:
    return secret.startswith(PREFIX)


def read_keys(text: str, place: str) -> dict[str, ApiKey]:
    """Return the keys of a file, by id. Raises Broken, naming `place` and the entry, never its content."""
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Broken(f"{place} is not TOML: {error}") from None
    entries = found.pop("key", [])
    if found or not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise Broken(f"{place} may contain [[key]] tables only; remove the rest")
    keys: dict[str, ApiKey] = {}
    names: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        key = _read(entry, f"{place}, key {number}")
        if key.id in keys or key.who.name in names:
            raise Broken(f"{place}, key {number}: its name or its id occurs twice; remove one")
        keys[key.id] = key
        names.add(key.who.name)
    return keys


def _read(entry: Mapping[str, object], place: str) -> ApiKey:
    unknown = sorted(set(entry) - _FIELDS)
    if unknown:
        raise Broken(f"{place}: unknown field {unknown[0]}; known are {', '.join(sorted(_FIELDS))}")
    name, key_id, hashed = (_text(entry, field, place) for field in ("name", "id", "hash"))
    if not KEY_NAME.fullmatch(name) or not re.fullmatch(r"[a-z2-7]{16}", key_id) or not _HASH.fullmatch(hashed):
        raise Broken(f"{place}: name, id or hash is malformed; create the entry with graphtide keys create")
    allowance = Allowance(
        _number(entry, "requests_per_second", place),
        int(_number(entry, "burst", place)),
        int(_number(entry, "max_body_bytes", place)),
        quota_of(entry, place),
    )
    who = Principal(name, graphs_of(entry.get("graphs"), place), actions_of(entry.get("actions"), place), allowance)
    return ApiKey(key_id, hashed, who, _moment(entry.get("expires"), place))


def quota_of(entry: Mapping[str, object], place: str) -> Quota:
    """Return the quota in the fields of a key or of a token's claim. Raises Broken."""
    return Quota(*(int(_number(entry, name, place)) for name in ("max_documents", "max_bytes", "max_graphs")))


def graphs_of(value: object, place: str) -> tuple[str, ...]:
    """Return the graph names and patterns. Raises Broken."""
    if not isinstance(value, list) or not all(
        isinstance(each, str) and GRAPH_PATTERN.fullmatch(each) for each in value
    ):
        raise Broken(f"{place}: graphs must be a list of graph names, with * and ? as wildcards")
    return tuple(value)


def actions_of(value: object, place: str) -> frozenset[Action]:
    """Return the actions. Raises Broken."""
    known = {each.value for each in Action}
    if not isinstance(value, list) or not all(isinstance(each, str) and each in known for each in value):
        raise Broken(f"{place}: actions must be a list of {', '.join(Action)}")
    return frozenset(map(Action, value))


def _text(entry: Mapping[str, object], field: str, place: str) -> str:
    value = entry.get(field)
    if not isinstance(value, str):
        raise Broken(f"{place}: {field} must be a string")
    return value


def _number(entry: Mapping[str, object], field: str, place: str) -> float:
    value = entry.get(field, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise Broken(f"{place}: {field} must be a number, 0 for no limit")
    return value


def _moment(value: object, place: str) -> datetime | None:
    if value is None:
        return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise Broken(f"{place}: expires must be a date, such as 2027-01-31")
