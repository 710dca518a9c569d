"""Connection parameters of a Kafka cluster: address, credentials and TLS files.

Invariant: no repr contains the password. Files are read when a connection is made, not before.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any

from graphtide.infra.settings import Settings
from graphtide.streams.errors import Broken

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
CLIENT_ID = "graphtide"
METADATA_AGE_S = 5.0
"""Interval at which consumers refresh the partition metadata. A group whose leader received no partitions, because the
broker was about to elect or to start, assigns none until the next refresh; the driver's own interval is five minutes.
"""


@dataclass(frozen=True, slots=True)
class KafkaAddress:
    """Address and credentials of a cluster. `bootstrap` is `host:port,…`. On a shared cluster, `prefix` begins the name
    of every topic and group.
    """

    bootstrap: str
    security_protocol: str = "PLAINTEXT"
    sasl_mechanism: str = "PLAIN"
    sasl_username: str = ""
    sasl_password: str = field(default="", repr=False)
    ssl_ca_file: str = ""
    ssl_cert_file: str = ""
    ssl_key_file: str = ""
    prefix: str = ""

    def __post_init__(self) -> None:
        if self.security_protocol not in PROTOCOLS:
            raise Broken(f"{self.security_protocol!r} is not one of Kafka's protocols: {', '.join(PROTOCOLS)}")
        if self.has_sasl and self.sasl_mechanism not in MECHANISMS:
            raise Broken(f"{self.sasl_mechanism!r} is not supported; known mechanisms are {', '.join(MECHANISMS)}")

    @property
    def has_sasl(self) -> bool:
        return self.security_protocol.startswith("SASL")

    @property
    def has_tls(self) -> bool:
        return self.security_protocol.endswith("SSL")

    def topic(self, name: str) -> str:
        """Return the topic's name on the cluster."""
        return self.prefix + name

    def group(self, name: str) -> str:
        """Return the consumer group's name on the cluster."""
        return f"{self.prefix}graphtide-{name}"

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS context, if the protocol has one. Raises Broken for an unusable file."""
        if not self.has_tls:
            return None
        try:
            context = ssl.create_default_context(cafile=self.ssl_ca_file or None)
            if self.ssl_cert_file:
                context.load_cert_chain(self.ssl_cert_file, self.ssl_key_file or None)
        except (OSError, ssl.SSLError) as error:
            raise Broken(f"the TLS files of Kafka cannot be used: {error}") from error
        return context

    def client_options(self) -> dict[str, Any]:
        """Return the options of every aiokafka client. They contain the password: never log them."""
        options: dict[str, Any] = {
            "bootstrap_servers": self.bootstrap.split(","),
            "client_id": CLIENT_ID,
            "security_protocol": self.security_protocol,
            "ssl_context": self.tls(),
        }
        if self.has_sasl:
            options["sasl_mechanism"] = self.sasl_mechanism
            options["sasl_plain_username"] = self.sasl_username
            options["sasl_plain_password"] = self.sasl_password
        return options


def kafka_address(settings: Settings) -> KafkaAddress:
    """Return the cluster that the settings name."""
    return KafkaAddress(
        settings.kafka,
        settings.kafka_security_protocol,
        settings.kafka_sasl_mechanism,
        settings.kafka_sasl_username,
        settings.kafka_sasl_password.get_secret_value(),
        settings.kafka_ssl_ca_file,
        settings.kafka_ssl_cert_file,
        settings.kafka_ssl_key_file,
        settings.kafka_prefix,
    )
