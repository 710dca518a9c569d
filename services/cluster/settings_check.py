"""Whether the settings of a cluster can be meant as they stand: what no waiting would cure, said before anything waits.

Not whether the servers are there: the adapters find out. The invariant: nothing is connected to, and no secret is in a
message.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from graphtide.infra.kafka.address import kafka_address
from graphtide.infra.settings import Settings
from graphtide.streams.errors import Broken


def check_cluster(settings: Settings) -> None:
    """Raises Broken for a protection that was meant and would not be there, and for files that cannot be used."""
    _check_kafka(settings)
    for name in ("bolt_ca_file", "query_ca_file"):
        _check_authority(name, getattr(settings, name))


def _check_kafka(settings: Settings) -> None:
    protocol = settings.kafka_security_protocol
    meant = {
        "SASL": ("kafka_sasl_username", "kafka_sasl_password"),
        "SSL": ("kafka_ssl_ca_file", "kafka_ssl_cert_file", "kafka_ssl_key_file"),
    }
    for part, names in meant.items():
        said = next((name for name in names if getattr(settings, name)), "")
        if said and part not in protocol:
            raise Broken(
                f"GRAPHTIDE_{said.upper()} is set, and GRAPHTIDE_KAFKA_SECURITY_PROTOCOL is {protocol}, which does not "
                f"use it: choose one with {part}, or unset it"
            )
    if settings.kafka:
        kafka_address(settings).tls()


def _check_authority(name: str, file: str) -> None:
    if not file:
        return
    try:
        if not ssl.create_default_context(cafile=Path(file)).get_ca_certs():
            raise Broken(f"GRAPHTIDE_{name.upper()} names {file}, which holds no certificate of an authority")
    except OSError as error:  # ssl.SSLError is one
        said = error.strerror or getattr(error, "reason", None) or type(error).__name__
        raise Broken(f"GRAPHTIDE_{name.upper()} names {file}, which cannot be used: {said}") from None
