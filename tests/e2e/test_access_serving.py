"""The service as operators start it, with credentials and TLS: refused where it would be open, and used by the CLI."""

from __future__ import annotations

import json
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from graphtide.infra.settings import Settings
from graphtide.services.access.bind_policy import gate_of
from graphtide.services.access.tls import certificates
from graphtide.streams.errors import Broken
from tests.support.certificates import authority
from tests.support.command import graphtide
from tests.support.processes import service


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.org"])  # noqa: S104 -- what is refused
def test_gate_is_refused_when_others_could_come_in_without_credentials(host: str, tmp_path: Path) -> None:
    """The message names the remedies, and each of them works."""
    with pytest.raises(
        Broken, match=r"refusing to listen on .*graphtide keys create.*GRAPHTIDE_ALLOW_UNAUTHENTICATED=true"
    ):
        gate_of(Settings(host=host))
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    assert gate_of(Settings(host=host, allow_unauthenticated=True)).is_open
    assert gate_of(Settings(host=host, tls_client_ca_file="ca.pem")).is_open
    assert not gate_of(Settings(host=host, api_keys_file=str(keys))).is_open
    assert gate_of(Settings(host="127.0.0.2")).is_open


def test_serve_does_not_start_when_it_would_be_open_to_others(tmp_path: Path) -> None:
    """It ends before it opens a port or the data folder."""
    data = tmp_path / "data"
    ended = graphtide("serve", "--host", "0.0.0.0", "--port", "0", "--grpc-port", "0", "--data", str(data))  # noqa: S104
    assert (ended.returncode, ended.stdout, data.exists()) == (1, "", False)
    assert "refusing to listen on 0.0.0.0 without credentials" in ended.stderr


def test_command_line_works_with_a_key_and_says_what_is_missing_without(tmp_path: Path) -> None:
    """The key is made by `keys create`, given by environment or option, and printed by `create` only."""
    file = str(tmp_path / "keys.toml")
    made = graphtide(
        "keys",
        "create",
        "ada",
        "--graph",
        "notes",
        "--action",
        "read",
        "--action",
        "write",
        "--json",
        api_keys_file=file,
    )
    key = json.loads(made.stdout)["key"]
    outputs = []
    with service(tmp_path / "data", {"GRAPHTIDE_API_KEYS_FILE": file}) as running:
        published = graphtide(
            "publish",
            "-",
            "--graph",
            "notes",
            "--wait",
            "--url",
            running.url,
            api_key=key,
            stdin="Marie Curie discovered polonium.",
        )
        assert published.returncode == 0, published.stderr
        asked = graphtide(
            "query", "Who discovered polonium?", "--graph", "notes", "--url", running.url, "--api-key", key
        )
        assert "Curie" in asked.stdout
        without = graphtide("stats", "--graph", "notes", "--url", running.url)
        assert (without.returncode, "GRAPHTIDE_API_KEY" in without.stderr) == (1, True)
        elsewhere = graphtide("stats", "--graph", "others", "--url", running.url, api_key=key)
        assert (elsewhere.returncode, "was not granted the graph" in elsewhere.stderr) == (1, True)
        assert graphtide("status", "--url", running.url).returncode == 0
        wrong = graphtide("stats", "--url", running.url, api_key="schlüssel")
        assert (wrong.returncode, "characters that no key has" in wrong.stderr) == (2, True)
        assert graphtide("keys", "revoke", "ada", api_keys_file=file).returncode == 0
        revoked = graphtide("stats", "--graph", "notes", "--url", running.url, api_key=key)
        assert revoked.returncode == 1
        outputs = [published, asked, without, elsewhere, revoked]
    assert not any(key in each.stdout + each.stderr for each in outputs)


def test_service_speaks_tls_to_those_with_a_certificate_only(tmp_path: Path) -> None:
    """HTTP and gRPC use the same files; without TLS, or without a certificate of the CA, there is no answer."""
    ca, foreign = authority(tmp_path), authority(tmp_path, "foreign")
    certificate, key, _ = ca.issue("service")
    client, client_key, both = ca.issue("client")
    _, _, stranger = foreign.issue("stranger")
    settings = {
        "GRAPHTIDE_TLS_CERT_FILE": str(certificate),
        "GRAPHTIDE_TLS_KEY_FILE": str(key),
        "GRAPHTIDE_TLS_CLIENT_CA_FILE": str(ca.file),
    }
    with service(tmp_path / "data", settings) as running:
        assert running.url.startswith("https://")
        known = graphtide("graphs", "--url", running.url, ca_file=str(ca.file), client_cert=str(both))
        assert known.returncode == 0, known.stderr
        for more in ({}, {"client_cert": str(stranger)}):
            refused = graphtide("graphs", "--url", running.url, ca_file=str(ca.file), **more)
            assert (refused.returncode, "Traceback" in refused.stderr) == (4, False)
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.url.replace("https", "http") + "/healthz", timeout=120)
        parts = (ca.file.read_bytes(), client_key.read_bytes(), client.read_bytes())
        check = health_pb2.HealthCheckRequest()
        with grpc.secure_channel(running.grpc, grpc.ssl_channel_credentials(*parts)) as channel:
            assert health_pb2_grpc.HealthStub(channel).Check(check, timeout=120).status == 1
        for channel in (
            grpc.insecure_channel(running.grpc),
            grpc.secure_channel(running.grpc, grpc.ssl_channel_credentials(parts[0])),
        ):
            with channel, pytest.raises(grpc.RpcError):
                health_pb2_grpc.HealthStub(channel).Check(check, timeout=120)


def test_tls_is_refused_when_its_files_do_not_fit(tmp_path: Path) -> None:
    """The start fails and names the file, for HTTP and gRPC alike."""
    ca = authority(tmp_path)
    certificate, _, _ = ca.issue("one")
    _, other, _ = ca.issue("two")
    assert certificates(Settings()) is None
    with pytest.raises(Broken, match="set both"):
        certificates(Settings(tls_cert_file=str(certificate)))
    with pytest.raises(Broken, match="set both"):
        certificates(Settings(tls_client_ca_file=str(ca.file)))
    with pytest.raises(Broken, match="TLS cannot be set up"):
        certificates(Settings(tls_cert_file=str(certificate), tls_key_file=str(other)))
    with pytest.raises(Broken, match="No such file"):
        certificates(Settings(tls_cert_file=str(certificate), tls_key_file=str(tmp_path / "none")))
