"""The doctor, with each component really broken: it names the defect, and no other."""

from __future__ import annotations

import errno
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.cli.client import Client
from graphtide.services.cli.commands.doctor import diagnose
from graphtide.services.cli.connection import Connection
from graphtide.services.doctor import DoctorFinding
from graphtide.services.doctor.cluster import cluster_findings
from graphtide.services.doctor.endpoints import endpoint_findings
from graphtide.services.doctor.local import folder_findings, port_findings, settings_findings
from graphtide.services.doctor.running import graph_findings, running_findings
from graphtide.services.wiring import open_application
from graphtide.streams.errors import Broken
from graphtide.streams.messages import DocumentMessage
from tests.support.command import graphtide
from tests.support.endpoints import status
from tests.support.openai_server import OpenAIServer
from tests.support.processes import service


def serious(findings: Iterator[DoctorFinding]) -> list[str]:
    """Return the names of the serious findings."""
    return [each.what for each in findings if each.serious]


async def asked(settings: Settings) -> list[DoctorFinding]:
    """Return the findings about the endpoints."""
    return [each async for each in endpoint_findings(settings)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"embedding_base_url": "http://127.0.0.1:9"}, "GRAPHTIDE_EMBEDDING_MODEL"),
        ({"llm_model": "m"}, "GRAPHTIDE_LLM_BASE_URL"),
        ({"host": "0.0.0.0"}, "without credentials"),  # noqa: S104 -- what is found
        ({"api_keys_file": "/nowhere/keys.toml"}, "cannot be read"),
        ({"jwt_key_file": "/nowhere/key"}, "GRAPHTIDE_JWT_ISSUER"),
        ({"jwt_issuer": "https://login.example"}, "GRAPHTIDE_JWT_KEY_FILE is not"),
        ({"embedding_model": "e"}, "GRAPHTIDE_EMBEDDING_BASE_URL is not"),
        ({"kafka_sasl_username": "u"}, "choose one with SASL"),
        ({"kafka_ssl_ca_file": "ca.pem"}, "choose one with SSL"),
        ({"bolt_ca_file": "/nowhere/ca"}, "GRAPHTIDE_BOLT_CA_FILE names /nowhere/ca, which cannot be used: No such"),
        ({"query_ca_file": __file__}, "GRAPHTIDE_QUERY_CA_FILE names"),
        (
            {"checkpoints_url": "s4://bucket/prefix"},
            "CHECKPOINTS_URL cannot be used: s4:// is not a protocol",
        ),
        ({"checkpoints_url": "s3://me:secret@bucket"}, "the s3:// URL contains a password"),
        ({"trusted_proxies": "banana"}, "GRAPHTIDE_TRUSTED_PROXIES contains 'banana'"),
        ({"tls_cert_file": "/nowhere/cert"}, "GRAPHTIDE_TLS_KEY_FILE"),
        ({"kafka": "127.0.0.1:9"}, "GRAPHTIDE_BOLT is not"),
        ({"max_body_bytes": 2000, "max_batch_bytes": 1999}, "max_batch_bytes"),
        ({"max_batch_bytes": 64 << 20, "max_arriving_bytes": 32 << 20}, "max_arriving_bytes"),
    ],
    ids=str,
)
def test_settings_that_contradict_each_other_are_found(given: dict[str, object], message: str) -> None:
    """Each contradiction is found alone; without any, no finding is serious."""
    assert serious(settings_findings(Settings())) == []
    [found] = serious(settings_findings(Settings(**given)))  # type: ignore[arg-type]
    assert message in found


def test_open_service_is_told_when_it_is_meant(tmp_path: Path) -> None:
    """`allow_unauthenticated` and missing TLS are no errors, and are reported."""
    keys = tmp_path / "keys.toml"
    keys.write_text("")
    meant = {each.about for each in settings_findings(Settings(host="0.0.0.0", allow_unauthenticated=True))}  # noqa: S104
    clear = {each.about for each in settings_findings(Settings(host="0.0.0.0", api_keys_file=str(keys)))}  # noqa: S104
    assert ("credentials" in meant, "tls" in clear) == (True, True)


def test_data_folder_is_found_to_be_no_folder_full_or_of_another_model(tmp_path: Path) -> None:
    """A new folder and a valid one have no finding."""
    assert serious(folder_findings(Settings(data=tmp_path / "new"))) == []
    (tmp_path / "file").write_text("")
    assert "is not a folder" in serious(folder_findings(Settings(data=tmp_path / "file")))[0]
    assert "MB of free space" in serious(folder_findings(Settings(data=tmp_path), min_bytes=1 << 62))[0]
    (tmp_path / "embedding-model").write_text("openai/minilm\n")
    settings = Settings(data=tmp_path, embedding_base_url="http://127.0.0.1:9", embedding_model="other")
    [found] = list(folder_findings(settings))
    assert "embedded with openai/minilm" in found.what
    assert "back to minilm" in found.cure


def test_data_folder_is_found_not_to_be_writable() -> None:
    """/proc refuses writes by every user, root too."""
    assert "cannot be written" in serious(folder_findings(Settings(data=Path("/proc/self/graphtide"))))[0]


def test_read_only_file_system_is_not_cured_by_another_owner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A change of the owner helps where access is denied, and nowhere else."""

    def refused(number: int) -> DoctorFinding:
        def fail(**_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(tempfile, "TemporaryFile", fail)
        [found] = folder_findings(Settings(data=tmp_path))
        return found

    assert refused(errno.EACCES).cure.startswith("chown ")
    assert "chown" not in refused(errno.EROFS).cure and "mount" in refused(errno.EROFS).cure


def damaged_header(file: Path) -> None:
    file.write_bytes(b"x" * 100 + file.read_bytes()[100:])


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:4096])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


async def opened(folder: Path) -> None:
    """Open the data folder as `serve` does, publish one document, and save the indexes."""
    async with open_application(Settings(data=folder, embedding_model="hashing")) as application:
        token = (await application.publish([DocumentMessage("notes", "a", "Ada met Bob.")])).token
        await application.query("notes", QueryRequest("Who met Bob?", after=token, generate=False))


@pytest.mark.parametrize("damage", [damaged_header, truncated, emptied, Path.unlink])
async def test_unusable_database_is_found_with_the_error_of_serve(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """The doctor says what a start says; before the damage it finds nothing, while the service runs or not."""
    settings = Settings(data=tmp_path, embedding_model="hashing")
    await opened(tmp_path)
    assert serious(folder_findings(settings)) == []
    async with open_application(settings):
        assert serious(folder_findings(settings)) == []
    damage(tmp_path / "graphtide.sqlite")
    [found] = [each for each in folder_findings(settings) if each.serious]
    with pytest.raises(Broken) as refusal:
        await opened(tmp_path)
    assert found.what == str(refusal.value)


def test_port_is_found_taken() -> None:
    """Another process than our service holds the port."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = list(port_findings(Settings(port=port, grpc_port=0)))
        assert ([each.about for each in found], f":{port}" in found[0].cure) == (["ports"], True)
    assert list(port_findings(Settings(port=0, grpc_port=0))) == []


async def test_endpoint_is_found_away_wrong_or_of_another_dimension(tmp_path: Path) -> None:
    """Unreachable, wrong key, wrong model, other vectors than the data's; the key is in no message."""
    with OpenAIServer() as server:
        settings = Settings(
            data=tmp_path,
            embedding_base_url=server.base_url,
            embedding_model="e",
            embedding_api_key=SecretStr("sk-marked"),
        )
        assert await asked(settings) == []
        for fault, cure in (
            (status(401, "bad key sk-marked"), "EMBEDDING_API_KEY"),
            (status(404, "no such model"), "EMBEDDING_MODEL"),
            (status(429, "slow down"), "REQUESTS_PER_MINUTE"),
        ):
            server.misbehave(fault)
            [found] = await asked(settings)
            assert cure in found.cure
            assert "sk-marked" not in repr(found)
        manifest = tmp_path / "indexes" / "notes" / "chunks" / "manifest.json"
        manifest.parent.mkdir(parents=True)
        manifest.write_text(json.dumps({"dim": 384}))
        [found] = await asked(settings)
        assert ("384 dimensions" in found.what, "gives 16" in found.what) == (True, True)
    [found] = await asked(settings)
    assert ("cannot be reached" in found.what, "start the endpoint" in found.cure) == (True, True)
    unreachable = Settings(llm_base_url="http://127.0.0.1:9/v1", llm_model="m")
    assert [each.about for each in await asked(unreachable)] == ["language endpoint"]


async def test_cluster_is_found_away() -> None:
    """No server listens; without a configured cluster there is no finding."""
    assert [each async for each in cluster_findings(Settings())] == []
    with socket.socket() as reserved:  # bound and never listening: no other process can take it
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        found = [
            each
            async for each in cluster_findings(Settings(kafka=f"127.0.0.1:{port}", bolt=f"bolt://127.0.0.1:{port}"))
        ]
    assert [each.about for each in found] == ["kafka", "bolt"]
    assert all(each.cure.startswith("start the") for each in found)


def test_running_service_tells_of_its_parts_and_its_clock(tmp_path: Path) -> None:
    """Its components are listed with a remedy; a clock that differs by more than the tolerance is reported."""
    settings = {"GRAPHTIDE_EMBEDDING_BASE_URL": "http://127.0.0.1:9/v1", "GRAPHTIDE_EMBEDDING_MODEL": "e"}
    with (
        service(tmp_path / "data", settings) as running,
        Client(running.url, lambda _: None, connection=Connection()) as client,
    ):
        assert list(running_findings(client, 30.0)) == []
        httpx.put(f"{running.url}/v1/graphs/notes/documents/a", json={"text": "Ada met Bob."}, timeout=120)
        while not (found := [each for each in running_findings(client, 30.0) if "127.0.0.1:9" in each.what]):
            pass
        assert {each.about for each in found} <= {"embedding endpoint", "extract"}
        assert [each.about for each in running_findings(client, -1e6)].count("clock") == 1


def test_graph_is_found_with_failures_and_an_index_that_is_behind() -> None:
    """Its statistics show them; while documents are in flight an index may be incomplete."""
    stats = {
        "graph": "notes",
        "lag": 0,
        "revisions": {"failed": 2, "applied": 5},
        "counts": {"chunks": 3, "entities": 4},
        "indexes": {"chunks": {"live": 2}, "entities": {"live": 4}},
    }
    assert [each.about for each in graph_findings(stats)] == ["dead letters", "indexes"]
    assert [each.about for each in graph_findings({**stats, "lag": 1})] == ["dead letters"]
    assert [each.cure for each in graph_findings(stats)] == [
        "graphtide dlq list --graph notes",
        "graphtide rebuild --graph notes",
    ]


def test_doctor_says_so_when_settings_are_wrong_or_a_named_service_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unreadable setting ends the check; a named service must be reachable."""
    monkeypatch.setenv("GRAPHTIDE_DATA", str(tmp_path))
    monkeypatch.setenv("GRAPHTIDE_PORT", "0")
    monkeypatch.setenv("GRAPHTIDE_GRPC_PORT", "0")
    monkeypatch.chdir(tmp_path)
    [found] = [each for each in diagnose(None, "http://127.0.0.1:9", Connection())["findings"] if each["serious"]]
    assert "graphtide serve" in found["cure"]
    monkeypatch.setenv("GRAPHTIDE_PORT", "seven")
    [found] = diagnose(None, "", Connection())["findings"]
    assert "GRAPHTIDE_PORT" in found["what"]


def test_doctor_ends_with_one_exactly_when_something_does_not_work(tmp_path: Path) -> None:
    """The command prints JSON beside a running service, text without one."""
    ill = graphtide("doctor", data=str(tmp_path / "new"), llm_model="m", port="0", grpc_port="0")
    assert (ill.returncode, "GRAPHTIDE_LLM_BASE_URL" in ill.stdout, "→" in ill.stdout) == (1, True, True)
    with service(tmp_path / "data") as running:
        well = graphtide("doctor", "--json", "--url", running.url, data=str(tmp_path / "data"))
    body = json.loads(well.stdout)
    assert (well.returncode, [each for each in body["findings"] if each["serious"]]) == (0, []), well.stdout
    assert "the running service" in body["looked_at"]
