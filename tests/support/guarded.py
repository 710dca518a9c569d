"""Gates, keys and tokens for tests: generated for one run and valid during it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from graphtide.services.access.bind_policy import key_file
from graphtide.services.access.gate import AccessGate, CallerRateLimits
from graphtide.services.access.keys import new_key
from graphtide.services.access.tokens import TokenRules, TokenVerifier

ISSUER, AUDIENCE = "https://issuer.example", "graphtide"


@cache
def _signer(name: str) -> rsa.RSAPrivateKey:
    """Return the key of an issuer, which all tests of a process share: making one takes 50 ms."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def public_pem() -> str:
    """Return the key that tokens of `token` are verified with."""
    return _signer("own").public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def token(*, graphs: object = ("notes",), actions: object = ("read",), stranger: bool = False, **claims: object) -> str:
    """Return a token, valid unless `claims` or `stranger` make it invalid. A claim of None is left out."""
    now = int(time.time())
    claimed: dict[str, object] = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 600}
    claimed |= {"graphtide": {"graphs": graphs, "actions": actions}, **claims}
    kept = {name: value for name, value in claimed.items() if value is not None}
    return jwt.encode(kept, _signer("other" if stranger else "own"), "RS256")


def rules(folder: Path, algorithm: str = "RS256", key: str = "") -> TokenRules:
    """Return rules for `token`, with the key file in `folder`."""
    file = folder / "jwt.key"
    file.write_text(key or public_pem())
    return TokenRules(file, algorithm, ISSUER, AUDIENCE, 5.0, "graphtide")


@dataclass(slots=True)
class KeyFile:
    """A file of keys that grows: `add` returns the key."""

    path: Path
    tables: list[str] = field(default_factory=list)

    def add(self, name: str, graphs: str, actions: str, **more: object) -> str:
        """Add a key for the graphs and actions, both separated by spaces; `more` is further TOML."""
        key, key_id, hashed = new_key()
        lines = [f'name = "{name}"', f'id = "{key_id}"', f'hash = "{hashed}"']
        lines += [f"graphs = {graphs.split()}", f"actions = {actions.split()}"]
        lines += [f"{field} = {value}" for field, value in more.items()]
        self.tables.append("[[key]]\n" + "\n".join(lines).replace("'", '"') + "\n")
        self.path.write_text("\n".join(self.tables))
        return key


def gate(keys: KeyFile, folder: Path, fairness: CallerRateLimits | None = None) -> AccessGate:
    """Return a gate that knows the keys, and tokens of `token`."""
    verifier = TokenVerifier(rules(folder))
    return AccessGate(key_file(str(keys.path)), verifier, fairness or CallerRateLimits(failed_auth_per_minute=100_000))
