"""A cluster of real processes with every connection encrypted: broker, graph database, replica, gateway."""

from __future__ import annotations

import ssl
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.kafka.address import KafkaAddress
from tests.support.certificates import Authority
from tests.support.cluster import Cluster
from tests.support.secured import USER, SecuredKafka

NO_PORTS = ("--metrics-port", "0")
WRONG = "not-the-password-7f3a"


@dataclass
class Given:
    """A graph database that already runs."""

    address: BoltAddress

    def stop(self) -> None: ...

    def kill(self) -> None: ...

    def restart(self) -> None: ...


def secured(kafka: SecuredKafka, bolt: BoltAddress, folder: Path) -> Cluster:
    """Return the settings of a cluster on these servers."""
    settings = {
        "GRAPHTIDE_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "GRAPHTIDE_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "GRAPHTIDE_KAFKA_SASL_USERNAME": USER,
        "GRAPHTIDE_KAFKA_SASL_PASSWORD": kafka.password,
        "GRAPHTIDE_KAFKA_SSL_CA_FILE": str(kafka.ca.file),
        "GRAPHTIDE_BOLT_CA_FILE": str(kafka.ca.file),
    }
    address = replace(bolt, uri=bolt.uri.replace("bolt+ssc", "bolt"))
    prefix = f"{uuid.uuid4().hex[:8]}-"
    return Cluster(KafkaAddress(kafka.sasl, prefix=prefix), Given(address), folder, settings)


def tls_settings(ca: Authority, name: str) -> dict[str, str]:
    """Return the settings of a process that has a certificate, and requires one of its clients."""
    certificate, key, _ = ca.issue(name)
    return {
        "GRAPHTIDE_TLS_CERT_FILE": str(certificate),
        "GRAPHTIDE_TLS_KEY_FILE": str(key),
        "GRAPHTIDE_TLS_CLIENT_CA_FILE": str(ca.file),
    }


def test_document_is_published_and_found_with_every_connection_secured(
    secured_kafka: SecuredKafka, secured_neo4j: BoltAddress, tmp_path: Path
) -> None:
    """The path is a gateway with a client certificate and a replica that requires it; no log has a secret."""
    cluster, ca = secured(secured_kafka, secured_neo4j, tmp_path), secured_kafka.ca
    made = cluster.run("topics", "apply", "--partitions", "2")
    assert made.returncode == 0, made.stderr
    try:
        roles = {role: ("worker", role, *NO_PORTS) for role in ("extract", "consolidate")}
        cluster.start_all(roles)
        replica = cluster.start(
            "query", "worker", "query", *NO_PORTS, "--grpc-port", "0", settings=tls_settings(ca, "replica")
        )
        asked = {"GRAPHTIDE_QUERY_TARGET": replica.addresses["grpc"], "GRAPHTIDE_QUERY_CA_FILE": str(ca.file)}
        gateway = cluster.start(
            "gateway", "worker", "gateway", *NO_PORTS, "--port", "0", settings=asked | tls_settings(ca, "gateway")
        )
        trust = ssl.create_default_context(cafile=str(ca.file))
        trust.load_cert_chain(*ca.issue("caller")[:2])
        with httpx.Client(base_url=gateway.addresses["http"], verify=trust, timeout=60) as client:
            graph = f"/v1/graphs/{uuid.uuid4().hex}"
            token = client.put(f"{graph}/documents/a", json={"text": "Marie Curie discovered polonium."}).json()[
                "token"
            ]
            answer = client.post(f"{graph}/query", json={"question": "Who discovered polonium?", "after": token}).json()
            assert [one["doc_id"] for one in answer["passages"]] == ["a"]
            assert client.get("/readyz").json()["components"]["query"] == "well"
        assert all(one.is_ready() for one in cluster.processes.values())
        logs = "".join(one.logged() for one in cluster.processes.values())
        assert secured_kafka.password not in logs and secured_neo4j.password not in logs
    finally:
        cluster.end()


def test_process_ends_and_says_so_when_a_password_is_wrong(
    secured_kafka: SecuredKafka, secured_neo4j: BoltAddress, tmp_path: Path
) -> None:
    """One sentence names the setting, and not the password; the doctor reports the same."""
    cluster = secured(secured_kafka, secured_neo4j, tmp_path)
    for name, setting in (("KAFKA_SASL_PASSWORD", "kafka_sasl_password"), ("BOLT_PASSWORD", "bolt_password")):
        wrong = {f"GRAPHTIDE_{name}": WRONG}
        ended = cluster.run("worker", "extract", *NO_PORTS, "--data", str(tmp_path / name), settings=wrong)
        assert ended.returncode == 1 and setting in ended.stderr, ended.stderr
        doctor = cluster.run("doctor", settings={**wrong, "GRAPHTIDE_DATA": str(tmp_path / name)})
        assert doctor.returncode == 1 and setting in doctor.stdout, doctor.stdout
        for output in (ended.stdout, ended.stderr, doctor.stdout, doctor.stderr):
            assert WRONG not in output
