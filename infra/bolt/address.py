"""Where the graph database is, and how one is let in: the value that the Bolt adapters are made from.

Invariant: the password is in no repr. The certificate is read when a connection is made, not before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from graphtide.streams.errors import Broken

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
PORT = 7687


@dataclass(frozen=True, slots=True)
class BoltAddress:
    """`uri` is `bolt://host:7687` or the like. Without a user, no credentials are sent. `database` empty: the default.

    With `ca_file` the connection is by TLS and the server's certificate must be signed by one in that file.
    """

    uri: str
    user: str = ""
    password: str = field(default="", repr=False)
    database: str = ""
    ca_file: str = ""
    timeout_s: float = 10.0

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.uri)
            good = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:
            good = False
        if not good:
            raise Broken(f"{_shown(self.uri)} is not a Bolt address: write bolt://host:{PORT}, with one of {SCHEMES}")
        if parts.username or parts.password:
            raise Broken("credentials do not belong into the Bolt address: set bolt_user and bolt_password")

    @property
    def shown(self) -> str:
        """The address as it may stand in a message."""
        return self.uri


def _shown(uri: str) -> str:
    """Without what stands in front of an @, which may be a password."""
    return repr(uri.rpartition("@")[2])
