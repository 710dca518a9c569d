"""Certificates and keys replaced under a running service, as a cluster's secrets are: by switching a symbolic link."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.support.certificates import Authority, Secret, authority
from tests.support.guarded import KeyFile
from tests.support.processes import Service, service


@dataclass
class House:
    """A service with the secret's certificate, for clients with a certificate of its CA."""

    running: Service
    ca: Authority
    client: Path
    secret: Secret
    log: Path

    def interfaces(self) -> tuple[str, str]:
        """Return the addresses of HTTP and gRPC, as host:port."""
        return self.running.url.removeprefix("https://"), self.running.grpc

    def connection(self, interface: str, client: Path, **more: ssl.TLSVersion) -> ssl.SSLSocket:
        """Open a new connection and finish the handshake on both sides; raise on failure."""
        host, _, port = interface.rpartition(":")
        raw = socket.create_connection((host, int(port)), timeout=120)
        return self.context(client, **more).wrap_socket(raw, server_hostname=host)

    def context(self, client: Path, maximum_version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca.file))
        context.load_cert_chain(client)
        context.set_alpn_protocols(["h2", "http/1.1"])
        context.maximum_version = maximum_version or ssl.TLSVersion.MAXIMUM_SUPPORTED
        return context

    def shown(self, interface: str) -> str:
        """Return the serial number of the certificate that a new connection sees."""
        with self.connection(interface, self.client) as connection:
            return str((connection.getpeercert() or {})["serialNumber"])

    def ready(self, key: str) -> dict[str, str]:
        headers = {"x-api-key": key}
        answered = httpx.get(
            f"{self.running.url}/readyz", verify=self.context(self.client), headers=headers, timeout=120
        )
        assert answered.status_code == 200
        parts: dict[str, str] = answered.json()["components"]
        return parts

    def stale(self, key: str) -> list[str]:
        headers = {"x-api-key": key}
        answered = httpx.get(
            f"{self.running.url}/metrics", verify=self.context(self.client), headers=headers, timeout=120
        )
        lines = [line for line in answered.text.splitlines() if line.startswith("graphtide_security_file_stale")]
        return [line.partition('"')[2].partition('"')[0] for line in lines if line.endswith(" 1.0")]


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.toml")


@pytest.fixture
def house(tmp_path: Path, keys: KeyFile) -> Iterator[House]:
    keys.add("nobody", "*", "read")
    ca, secret, log = authority(tmp_path), Secret(tmp_path / "secret"), tmp_path / "log"
    certificate, key, _ = ca.issue("first")
    _, _, client = ca.issue("client")
    secret.hold(tls_crt=certificate, tls_key=key, ca_crt=ca.file)
    settings = {
        "GRAPHTIDE_TLS_CERT_FILE": str(secret / "tls.crt"),
        "GRAPHTIDE_TLS_KEY_FILE": str(secret / "tls.key"),
        "GRAPHTIDE_TLS_CLIENT_CA_FILE": str(secret / "ca.crt"),
        "GRAPHTIDE_API_KEYS_FILE": str(keys.path),
    }
    with service(tmp_path / "data", settings, log) as running:
        yield House(running, ca, client, secret, log)


def test_new_connections_see_the_new_certificate_and_open_ones_go_on(house: House, keys: KeyFile) -> None:
    """This covers HTTP and gRPC; a pair that does not fit, or is no certificate, changes nothing and is logged."""
    watcher = keys.add("watcher", "*", "metrics")
    before = {interface: house.shown(interface) for interface in house.interfaces()}
    assert len(set(before.values())) == 1
    certificate, key, _ = house.ca.issue("second")
    with httpx.Client(base_url=house.running.url, verify=house.context(house.client), timeout=120) as kept:
        assert kept.get("/healthz").status_code == 200
        house.secret.hold(tls_crt=certificate, tls_key=key, ca_crt=house.ca.file)
        after = {interface: house.shown(interface) for interface in house.interfaces()}
        assert len(set(after.values())) == 1
        assert not set(after.values()) & set(before.values())
        assert kept.get("/healthz").status_code == 200
    _, other, _ = house.ca.issue("third")
    for wrong in ({"tls_crt": certificate, "tls_key": other}, {"tls_crt": house.log, "tls_key": key}):
        house.secret.hold(**wrong, ca_crt=house.ca.file)
        assert {interface: house.shown(interface) for interface in house.interfaces()} == after
        assert "TLS cannot be set up" in house.ready(watcher)["newer certificate"]
        assert house.stale(watcher) == ["certificate"]
    assert house.log.read_text().count("the previous version stays in use") == 2
    house.secret.hold(tls_crt=certificate, tls_key=key, ca_crt=house.ca.file)
    assert "newer certificate" not in house.ready(watcher)
    assert house.stale(watcher) == []
    keys.path.write_text("[[key]]\nname = 3\n")
    assert "must be a string" in house.ready(watcher)["newer keys"]
    assert house.stale(watcher) == ["keys"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_clients_of_a_ca_that_was_taken_away_are_refused(house: House, tmp_path: Path, version: ssl.TLSVersion) -> None:
    """This covers both protocols, either TLS version, and the session of an admitted connection."""
    trusted = authority(tmp_path, "trusted")
    certificate, key, _ = house.ca.issue("second")
    _, _, newcomer = trusted.issue("newcomer")
    sessions = {}
    context = house.context(house.client, version)
    for interface in house.interfaces():
        assert greeted(house, interface, newcomer, house.context(newcomer, version)) is None
        sessions[interface] = greeted(house, interface, house.client, context)
        assert sessions[interface] is not None
    house.secret.hold(tls_crt=certificate, tls_key=key, ca_crt=trusted.file)
    for interface in house.interfaces():
        assert greeted(house, interface, newcomer, house.context(newcomer, version)) is not None
        assert greeted(house, interface, house.client, context, sessions[interface]) is None


def greeted(
    house: House, interface: str, client: Path, context: ssl.SSLContext, session: ssl.SSLSession | None = None
) -> ssl.SSLSession | None:
    """Return the session of a connection that the service answered; None when it closed without an answer."""
    host, _, port = interface.rpartition(":")
    raw = socket.create_connection((host, int(port)), timeout=120)
    try:
        with context.wrap_socket(raw, server_hostname=host, session=session) as connection:
            if connection.selected_alpn_protocol() == "h2":
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5))
            else:
                connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            return connection.session if connection.recv(1) else None
    except OSError:  # ssl.SSLError, and a closed connection
        return None
