"""Connection parameters of the graph database: address, credentials and certificate.

Invariant: no repr contains the password. The certificate is read when a connection is made, not before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from graphtide.streams.errors import Broken

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
PORT = 7687


@dataclass(frozen=True, slots=True)
class BoltAddress:
    """Address and credentials of the graph database. `uri` is for example `bolt://host:7687`.

    Without a user, no credentials are sent. An empty `database` names the server's default. With `ca_file` the
    connection uses TLS, and the server's certificate must be signed by a certificate in that file.
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
            raise Broken("the Bolt address contains credentials: remove them and set bolt_user and bolt_password")

    @property
    def shown(self) -> str:
        """Return the address without credentials, for messages."""
        return self.uri


def _shown(uri: str) -> str:
    """Return the address without the part before an @, which may contain a password."""
    return repr(uri.rpartition("@")[2])
