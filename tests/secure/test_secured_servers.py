"""Kafka with SASL and TLS, the graph database with TLS: access with the right credentials, clear errors otherwise."""

from __future__ import annotations

import logging
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from graphtide.infra.bolt import BoltAddress, BoltBackend
from graphtide.infra.bolt.database import BoltDatabase
from graphtide.infra.kafka import topics
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.log import KafkaLog, KafkaTuning
from graphtide.streams.clock import now_ms
from graphtide.streams.errors import Broken, GraphtideError, Retryable
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Record
from tests.model.memory import MemoryLog
from tests.support.certificates import Authority, authority
from tests.support.secured import USER, SecuredKafka

WRONG = "not-the-password-7f3a"
QUICK = KafkaTuning(timeout_s=5.0)


def sasl(server: SecuredKafka, mechanism: str = "PLAIN") -> KafkaAddress:
    """Return the address of the listener that requires a password, with topics of its own."""
    login = {"sasl_mechanism": mechanism, "sasl_username": USER, "sasl_password": server.password}
    prefix = f"{uuid.uuid4().hex[:8]}-"
    return KafkaAddress(server.sasl, "SASL_SSL", **login, ssl_ca_file=str(server.ca.file), prefix=prefix)


def mutual(server: SecuredKafka) -> KafkaAddress:
    """Return the address of the listener that requires a certificate."""
    certificate, key, _ = server.ca.issue("client")
    files = {"ssl_ca_file": str(server.ca.file), "ssl_cert_file": str(certificate), "ssl_key_file": str(key)}
    return KafkaAddress(server.mutual, "SSL", **files, prefix=f"{uuid.uuid4().hex[:8]}-")


async def refusal_of(address: KafkaAddress) -> GraphtideError:
    """Return the error message of a log that is refused."""
    log = KafkaLog(address, QUICK)
    try:
        with pytest.raises(GraphtideError) as caught:
            await log.append(DOCUMENTS, [Record("g|a", b"{}")])
    finally:
        await log.close()
    return caught.value


@pytest.mark.parametrize("kind", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "certificate"])
async def test_records_are_written_and_read_over_tls(secured_kafka: SecuredKafka, kind: str) -> None:
    """Topics are created, a record appended and read back, by a group, too."""
    address = mutual(secured_kafka) if kind == "certificate" else sasl(secured_kafka, kind)
    await topics.apply(address, 1)
    log = KafkaLog(address, QUICK)
    try:
        await log.append(DOCUMENTS, [Record("g|a", b"read me")])
        found = [one.record.value async for one in read_up_to_end(log, DOCUMENTS, {})]
        assert found == [b"read me"]
        assert await log.committed(DOCUMENTS, "nobody") == {0: 0}
    finally:
        await log.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
async def test_wrong_password_of_kafka_is_broken_and_named_nowhere(
    secured_kafka: SecuredKafka, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The error reports the refused login; neither it nor any log line, nor a repr, contains the password."""
    caplog.set_level(logging.WARNING)  # library loggers are silent below it (infra/observability/logging_config.py)
    address = replace(sasl(secured_kafka, mechanism), sasl_password=WRONG)
    error = await refusal_of(address)
    assert isinstance(error, Broken) and "kafka_sasl_password" in str(error)
    everything = f"{error!r} {error.__cause__!r} {address!r} {caplog.text}"
    assert WRONG not in everything


async def test_kafka_that_is_signed_by_another_authority_is_not_trusted(
    secured_kafka: SecuredKafka, tmp_path: Path
) -> None:
    """A client without a required certificate is refused, and sends no password to an untrusted broker."""
    other = authority(tmp_path, "other")
    error = await refusal_of(replace(sasl(secured_kafka), ssl_ca_file=str(other.file)))
    assert "kafka_ssl_ca_file" in str(error) and secured_kafka.password not in str(error)
    assert await refusal_of(replace(mutual(secured_kafka), ssl_cert_file="", ssl_key_file=""))
    missing = await refusal_of(replace(sasl(secured_kafka), ssl_ca_file=str(tmp_path / "none.pem")))
    assert isinstance(missing, Broken) and "TLS files" in str(missing)


@pytest.mark.parametrize("way", ["bolt+ssc", "bolt with a CA", "bolt+s with a CA"])
async def test_graph_database_is_written_and_read_over_tls(
    secured_neo4j: BoltAddress, trusted: Authority, way: str
) -> None:
    """This covers the driver for the hot path, and the one for the schema."""
    scheme, _, by_ca = way.partition(" ")
    uri = secured_neo4j.uri.replace("bolt+ssc", scheme)
    address = replace(secured_neo4j, uri=uri, ca_file=str(trusted.file) if by_ca else "")
    backend = await BoltBackend.open(address, MemoryLog(1, now_ms))
    try:
        memo = backend.vectors("secured")
        await memo.put_many({b"k" * 32: b"read me"})
        assert await memo.get_many([b"k" * 32]) == {b"k" * 32: b"read me"}
    finally:
        await backend.close()


async def test_wrong_password_of_the_graph_database_is_broken_and_named_nowhere(
    secured_neo4j: BoltAddress, caplog: pytest.LogCaptureFixture
) -> None:
    """The error is Broken without the password, for the schema's driver, too."""
    caplog.set_level(logging.WARNING)
    address = replace(secured_neo4j, password=WRONG)
    with pytest.raises(Broken, match="bolt_password") as caught:
        await BoltDatabase.connect(address)
    everything = f"{caught.value!r} {caught.value.__cause__!r} {address!r} {caplog.text}"
    assert WRONG not in everything


async def test_graph_database_that_is_not_trusted_or_asked_in_the_clear_is_not_used(
    secured_neo4j: BoltAddress, tmp_path: Path
) -> None:
    """This covers another authority's certificate, a missing file, and no TLS at all."""
    address = replace(secured_neo4j, uri=secured_neo4j.uri.replace("bolt+ssc", "bolt"), timeout_s=5.0)
    other = authority(tmp_path, "other")
    for wrong in (
        replace(address, ca_file=str(other.file)),
        replace(address, ca_file=str(tmp_path / "none.pem")),
        address,
    ):
        with pytest.raises((Broken, Retryable)) as caught:
            await BoltDatabase.connect(wrong)
        assert secured_neo4j.password not in str(caught.value)
