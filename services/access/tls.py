"""TLS of HTTP and gRPC from the same three files, which are read again after a change.

The invariants: with a certificate in the settings nothing is served in plain text, and with a client CA no client
without a certificate of it reaches a request; unusable new files change nothing, and both protocols use usable new ones
from their next connection. Open connections keep their certificate.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import grpc

from graphtide.infra.private_files import READERS
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
    """One version of the files, for HTTP and for gRPC."""

    context: ssl.SSLContext
    configuration: grpc.ServerCertificateConfiguration


class _Newest(ssl.SSLContext):
    """A context that delegates each connection to the newest version, so no older session bypasses its trust."""

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
        """Wrap a connection with the newest context; asyncio and uvloop call this for each one."""
        return self._newest().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class Certificates:
    """The current certificates. Raises Broken at construction when the files cannot be used together."""

    def __init__(self, files: TlsFiles) -> None:
        self._asks_clients = files.client_ca is not None
        self._watched = Watched(files.all(), lambda: _read(files))
        self._given = self._watched.value().configuration

    @property
    def problem(self) -> str:
        """Return why the newest files are not in use, "" when they are."""
        return self._watched.problem

    def context(self) -> ssl.SSLContext:
        """Return the context of HTTP, which delegates each new connection to the newest one."""
        return _Newest.of(lambda: self._watched.value().context)

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Return the credentials of gRPC, which asks for newer ones before each handshake, from its own thread."""
        return grpc.dynamic_ssl_server_credentials(self._given, self._newer, self._asks_clients)

    def _newer(self) -> grpc.ServerCertificateConfiguration | None:
        newest = self._watched.value().configuration
        if newest is self._given:
            return None
        self._given = newest
        return newest


def certificates(settings: Settings) -> Certificates | None:
    """Return the certificates that the settings name, None without any.

    Raises Broken when a file is missing, is not PEM, or does not match the others.
    """
    given = (settings.tls_cert_file, settings.tls_key_file)
    if not any((*given, settings.tls_client_ca_file)):
        return None
    if not all(given):
        raise Broken("TLS needs both GRAPHTIDE_TLS_CERT_FILE and GRAPHTIDE_TLS_KEY_FILE, and one is empty: set both")
    client_ca = Path(settings.tls_client_ca_file) if settings.tls_client_ca_file else None
    return Certificates(TlsFiles(Path(given[0]), Path(given[1]), client_ca))


def _read(files: TlsFiles) -> _Reading:
    """Read the files. One replaced meanwhile has new times, so the next check reads it again."""
    pair = (read_bytes(files.key, READERS), read_bytes(files.certificate))
    client_ca = read_bytes(files.client_ca) if files.client_ca is not None else None
    context = _context(files)
    return _Reading(context, grpc.ssl_server_certificate_configuration([pair], client_ca))


def _context(files: TlsFiles) -> ssl.SSLContext:
    """Return a context for TLS 1.2 or newer. Raises Broken."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        raise Broken(f"TLS cannot be set up from {', '.join(map(str, files.all()))}: {reason}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; use an unencrypted key that only this process can read")
