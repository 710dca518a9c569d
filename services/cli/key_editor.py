"""Creation, listing and revocation of API keys in the file that the service reads.

Works without the service, which detects the change. The invariants: a key is shown once, when it is created; the file
holds only hashes, is readable by its owner only, and is replaced completely or not at all.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from graphtide.services.access.keys import ApiKey, new_key, read_keys
from graphtide.services.cli.client import Json
from graphtide.services.cli.exit_codes import NOT_FOUND, USAGE, CommandError
from graphtide.streams.errors import Broken

_TABLE = re.compile(r"(?m)^(?=\[\[key\]\])")
_QUOTA = ("max_documents", "max_bytes", "max_graphs")
_HEADER = (
    "# Written by graphtide keys create and revoke; you may edit it. The service reads it again when it\n# changes.\n"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The properties of a new key."""

    name: str
    graphs: tuple[str, ...]
    actions: tuple[str, ...]
    expires_days: float | None = None
    requests_per_second: float = 0.0
    max_body_bytes: int = 0
    max_documents: int = 0
    max_bytes: int = 0
    max_graphs: int = 0


def create(file: Path, wanted: Wanted) -> Json:
    """Add a key to the file, creating the file if needed. The result is the only place that contains the key."""
    text = file.read_text() if file.exists() else _HEADER
    if any(each.who.name == wanted.name for each in _read(text, file)):
        raise CommandError(f"{file} has a key {wanted.name} already; revoke it first, or choose another name", USAGE)
    key, key_id, hashed = new_key()
    added = f"{text.rstrip()}\n\n{_table(wanted, key_id, hashed)}"
    _read(added, file)
    _replace(file, added)
    return {"name": wanted.name, "key": key, "id": key_id, "file": str(file)}


def listed(file: Path) -> Json:
    """Return the keys of the file, without their hashes."""
    return {"keys": [_shown(each) for each in _read(_text(file), file)]}


def revoke(file: Path, name: str) -> Json:
    """Remove a key. It stops working with the next request."""
    text = _text(file)
    _read(text, file)
    head, *tables = _TABLE.split(text)
    kept = [table for table in tables if tomllib.loads(table)["key"][0].get("name") != name]
    if len(kept) == len(tables):
        raise CommandError(f"{file} has no key {name}; see graphtide keys list", NOT_FOUND)
    _replace(file, head + "".join(kept))
    return {"revoked": name, "file": str(file)}


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}; graphtide keys create creates one") from error


def _read(text: str, file: Path) -> list[ApiKey]:
    try:
        return list(read_keys(text, str(file)).values())
    except Broken as error:
        raise CommandError(str(error), USAGE) from error


def _table(wanted: Wanted, key_id: str, hashed: str) -> str:
    now = datetime.now(UTC).replace(microsecond=0)
    lines = ["[[key]]", f'name = "{wanted.name}"', f'id = "{key_id}"', f'hash = "{hashed}"']
    lines += [f"graphs = [{_strings(wanted.graphs)}]", f"actions = [{_strings(wanted.actions)}]"]
    lines.append(f"created = {now:%Y-%m-%dT%H:%M:%SZ}")
    if wanted.expires_days is not None:
        lines.append(f"expires = {now + timedelta(days=wanted.expires_days):%Y-%m-%dT%H:%M:%SZ}")
    if wanted.requests_per_second:
        lines.append(f"requests_per_second = {wanted.requests_per_second:g}")
    if wanted.max_body_bytes:
        lines.append(f"max_body_bytes = {wanted.max_body_bytes}")
    for name in _QUOTA:
        if getattr(wanted, name):
            lines.append(f"{name} = {getattr(wanted, name)}")
    return "\n".join(lines) + "\n"


def _strings(values: tuple[str, ...]) -> str:
    return ", ".join(f'"{value}"' for value in values)


def _shown(key: ApiKey) -> Json:
    who = key.who
    shown: Json = {"name": who.name, "graphs": list(who.graphs), "actions": sorted(who.actions), "id": key.id}
    if key.expires is not None:
        shown["expires"] = key.expires.isoformat()
    if who.allowance.requests_per_second:
        shown["requests_per_second"] = who.allowance.requests_per_second
    if who.allowance.max_body_bytes:
        shown["max_body_bytes"] = who.allowance.max_body_bytes
    quota = who.allowance.quota
    figures = zip(_QUOTA, (quota.documents, quota.size_bytes, quota.graphs), strict=True)
    shown |= {name: figure for name, figure in figures if figure}
    return shown


def _replace(file: Path, text: str) -> None:
    """Write a temporary file, sync it to disk, and rename it to `file`."""
    try:
        folder = file.parent
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=folder)  # readable by its owner only
        with os.fdopen(descriptor, "w") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        if file.exists():
            Path(temporary).chmod(file.stat().st_mode & 0o660)  # a group may grant access to the service's user
        Path(temporary).replace(file)
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}") from error
