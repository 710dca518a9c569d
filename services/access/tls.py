"""TLS for both faces, from the same three files, read again when they change. Not a certificate authority.

The invariants: with a certificate in the settings nothing is served in the clear, and with a client CA nobody without a
certificate of it gets as far as a request; new files that cannot be used change nothing, and both faces go over to new
ones with their next connection. What is open stays as it was begun.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc

from graphtide.infra.settings import Settings
from graphtide.services.access.reloading import Watched, read_bytes
from graphtide.streams.errors import Broken


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. `client_ca` is None where callers need no certificate."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    def all(self) -> tuple[Path, ...]:
        return tuple(each for each in (self.certificate, self.key, self.client_ca) if each is not None)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of the files, for either face."""

    context: ssl.SSLContext
    configuration: grpc.ServerCertificateConfiguration


class _Newest(ssl.SSLContext):
    """Gives each connection to the newest reading: what that does not trust does not come in by an older session."""

    _newest: Callable[[], ssl.SSLContext]

    @classmethod
    def of(cls, newest: Callable[[], ssl.SSLContext]) -> _Newest:
        made = cls(ssl.PROTOCOL_TLS_SERVER)
        made._newest = newest
        return made

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """What asyncio and uvloop ask for each connection."""
        return self._newest().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class Certificates:
    """What the files say, now. Raises Broken at construction when they cannot be used together."""

    def __init__(self, files: TlsFiles) -> None:
        self._asks_clients = files.client_ca is not None
        self._watched = Watched(files.all(), lambda: _read(files))
        self._given = self._watched.value().configuration

    @property
    def problem(self) -> str:
        """Why the newest files are not in force, "" when they are."""
        return self._watched.problem

    def context(self) -> ssl.SSLContext:
        """For HTTP: one context, that gives each new connection to the newest one."""
        return _Newest.of(lambda: self._watched.value().context)

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For gRPC, which asks before each handshake, from a thread of its own."""
        return grpc.dynamic_ssl_server_credentials(self._given, self._newer, self._asks_clients)

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        newest = self._watched.value().configuration
        if newest is self._given:
            return None
        self._given = newest
        return newest


def certificates(settings: Settings) -> Certificates | None:
    """The certificates that the settings name, None without any.

    Raises Broken when a file is missing, is no PEM, or does not fit the others.
    """
    given = (settings.tls_cert_file, settings.tls_key_file)
    if not any((*given, settings.tls_client_ca_file)):
        return None
    if not all(given):
        raise Broken("TLS needs both GRAPHTIDE_TLS_CERT_FILE and GRAPHTIDE_TLS_KEY_FILE: set the other one, too")
    client_ca = Path(settings.tls_client_ca_file) if settings.tls_client_ca_file else None
    return Certificates(TlsFiles(Path(given[0]), Path(given[1]), client_ca))


def _read(files: TlsFiles) -> _Reading:
    """The files as they are. One that is replaced meanwhile has new times, and is read again at the next look."""
    pair = (read_bytes(files.key), read_bytes(files.certificate))
    client_ca = read_bytes(files.client_ca) if files.client_ca is not None else None
    context = _context(files)
    return _Reading(context, grpc.ssl_server_certificate_configuration([pair], client_ca))


def _context(files: TlsFiles) -> ssl.SSLContext:
    """TLS 1.2 or newer. Raises Broken."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        told = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        raise Broken(f"TLS cannot be set up from {', '.join(map(str, files.all()))}: {told}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not, readable by this process alone")
