"""TLS for both faces, from the same three files. Not a certificate authority; nothing is made here.

The invariant: with a certificate in the settings nothing is served in the clear, and with a client CA nobody without a
certificate of it gets as far as a request.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from infra.settings import Settings
from streams.errors import Broken


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. `client_ca` is None where callers need no certificate."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


def tls_files(settings: Settings) -> TlsFiles | None:
    """The files that the settings name, None without any.

    Raises Broken when one is missing, is no PEM, or does not fit the others.
    """
    given = (settings.tls_cert_file, settings.tls_key_file)
    if not any((*given, settings.tls_client_ca_file)):
        return None
    if not all(given):
        raise Broken("TLS needs both GRAPHTIDE_TLS_CERT_FILE and GRAPHTIDE_TLS_KEY_FILE: set the other one, too")
    client_ca = Path(settings.tls_client_ca_file) if settings.tls_client_ca_file else None
    files = TlsFiles(Path(given[0]), Path(given[1]), client_ca)
    server_context(files)
    return files


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """For HTTP: TLS 1.2 or newer. Raises Broken."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
        if files.client_ca is not None:
            context.load_verify_locations(files.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        told = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        named = ", ".join(str(each) for each in (files.certificate, files.key, files.client_ca) if each)
        raise Broken(f"TLS cannot be set up from {named}: {told}") from None
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; give one that is not, readable by this process alone")


def grpc_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """For gRPC. The files are as `tls_files` found them."""
    client_ca = files.client_ca.read_bytes() if files.client_ca else None
    pair = (files.key.read_bytes(), files.certificate.read_bytes())
    return grpc.ssl_server_credentials([pair], client_ca, require_client_auth=client_ca is not None)
