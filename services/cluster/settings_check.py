"""Validation of the settings of a cluster: permanent errors are reported before any process waits.

The adapters find out whether the servers are reachable. The invariant: no connection is opened, and no message contains
a secret.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from graphtide.infra.checkpoints.archives import open_place
from graphtide.infra.kafka.address import kafka_address
from graphtide.infra.object_store import UnusableStoreError
from graphtide.infra.settings import Settings
from graphtide.streams.errors import Broken


def check_cluster(settings: Settings) -> None:
    """Raise Broken for security settings without effect, and for unusable files."""
    _check_kafka(settings)
    for name in ("bolt_ca_file", "query_ca_file"):
        _check_authority(name, getattr(settings, name))
    _check_checkpoints(settings.checkpoints_url)


def _check_kafka(settings: Settings) -> None:
    protocol = settings.kafka_security_protocol
    meant = {
        "SASL": ("kafka_sasl_username", "kafka_sasl_password"),
        "SSL": ("kafka_ssl_ca_file", "kafka_ssl_cert_file", "kafka_ssl_key_file"),
    }
    for part, names in meant.items():
        given = next((name for name in names if getattr(settings, name)), "")
        if given and part not in protocol:
            raise Broken(
                f"GRAPHTIDE_{given.upper()} is set, and GRAPHTIDE_KAFKA_SECURITY_PROTOCOL is {protocol}, which does "
                f"not use it: choose one with {part}, or unset it"
            )
    if settings.kafka:
        kafka_address(settings).tls()


def _check_authority(name: str, file: str) -> None:
    if not file:
        return
    try:
        if not ssl.create_default_context(cafile=Path(file)).get_ca_certs():
            raise Broken(f"GRAPHTIDE_{name.upper()} names {file}, which contains no CA certificate; provide one as PEM")
    except OSError as error:  # ssl.SSLError is one
        reason = error.strerror or getattr(error, "reason", None) or type(error).__name__
        raise Broken(f"GRAPHTIDE_{name.upper()} names {file}, which cannot be used: {reason}") from None


def _check_checkpoints(url: str) -> None:
    if not url:
        return
    try:
        open_place(url)
    except UnusableStoreError as error:
        raise Broken(f"GRAPHTIDE_CHECKPOINTS_URL cannot be used: {error}") from None
    except OSError:
        return  # an unreachable place is avoided later: processes run without it
