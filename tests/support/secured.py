"""A broker and a graph database that require TLS and a password, with certificates made for the test."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphtide.infra.bolt.address import BoltAddress
from tests.support.certificates import Authority, authority
from tests.support.kafka_server import LocalKafka
from tests.support.maven import Unavailable
from tests.support.neo4j_server import LocalNeo4j
from tests.support.ports import free_ports

USER = "graphtide"

_KAFKA = """
listeners=PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{mutual},CONTROLLER://127.0.0.1:{{controller}}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{mutual}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
inter.broker.listener.name=PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={pair}
ssl.truststore.type=PEM
ssl.truststore.location={ca}
ssl.client.auth=none
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
"""  # noqa: E501 -- a property is one line

_NEO4J = """
server.bolt.tls_level=REQUIRED
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.private_key={key}
dbms.ssl.policy.bolt.public_certificate={certificate}
dbms.ssl.policy.bolt.client_auth=NONE
"""


@dataclass(frozen=True, slots=True)
class SecuredKafka:
    """The broker's addresses: `sasl` requires TLS and a password, `mutual` TLS and a certificate of `ca`."""

    server: LocalKafka
    sasl: str
    mutual: str
    password: str
    ca: Authority


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the CA that signed the servers' certificates."""
    return authority(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def secured_kafka(trusted: Authority) -> Iterator[SecuredKafka]:
    """Yield a broker with PLAIN and SCRAM over TLS."""
    password = secrets.token_hex(16)
    sasl, mutual = free_ports(2)
    _, _, pair = trusted.issue("broker")
    more = _KAFKA.format(sasl=sasl, mutual=mutual, pair=pair, ca=trusted.file, user=USER, password=password)
    scram = [f"{kind}=[name={USER},password={password}]" for kind in ("SCRAM-SHA-256", "SCRAM-SHA-512")]
    options = [part for each in scram for part in ("--add-scram", each)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            server = LocalKafka(Path(folder), more=more, format_with=options)
        except Unavailable as error:
            pytest.skip(f"no Kafka whose settings are ours: {error}")
        try:
            yield SecuredKafka(server, f"127.0.0.1:{sasl}", f"127.0.0.1:{mutual}", password, trusted)
        finally:
            server.kill()


@pytest.fixture(scope="session")
def secured_neo4j(trusted: Authority) -> Iterator[BoltAddress]:
    """Yield the address, by `bolt+ssc`, of a graph database that accepts no unencrypted connection."""
    certificate, key, _ = trusted.issue("database")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        more = _NEO4J.format(folder=trusted.folder, key=key, certificate=certificate)
        try:
            server = LocalNeo4j(Path(folder), "bolt+ssc", more)
        except Unavailable as error:
            pytest.skip(f"no graph database whose settings are ours: {error}")
        try:
            yield server.address
        finally:
            server.kill()
