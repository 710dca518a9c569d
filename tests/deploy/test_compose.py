"""compose.yaml, loaded by the loader of `docker compose` itself and compared with the settings, the CLI and the files.

No engine runs: whether the images can be pulled and run is not tested here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from graphtide.infra.settings import Settings
from tests.support import go_tools

ROOT = Path(__file__).parents[2]
OURS = ("topics", "extract", "consolidate", "summarize", "query", "gateway")
PINNED = re.compile(r".+:v?\d+\.\d+\.\d+(-[^@]+)?(@sha256:[0-9a-f]{64})?")

pytestmark = pytest.mark.timeout(900)  # the first build of the loader


@cache
def services() -> dict[str, dict[str, Any]]:
    """Return the services by name, as the loader reads the file."""
    done = subprocess.run(
        [go_tools.composecheck(), "compose.yaml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded: dict[str, dict[str, Any]] = json.loads(done.stdout)["services"]
    return loaded


def test_compose_file_names_every_process_and_server() -> None:
    """`docker compose up` starts every part of the cluster."""
    assert set(services()) == {*OURS, "kafka", "memgraph", "prometheus", "grafana"}


def test_environment_is_made_of_settings() -> None:
    """Each GRAPHTIDE_ name is a setting, in the file and in the example of .env."""
    names = [name for one in OURS for name in services()[one]["environment"]]
    example = (ROOT / "infra" / "compose" / "env.example").read_text()
    names += re.findall(r"^(\w+)=", example, re.MULTILINE)
    assert names
    for name in names:
        assert name.removeprefix("GRAPHTIDE_").lower() in Settings.model_fields, name


def test_environment_is_accepted_by_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The values have the types of the settings, and all processes use the same servers."""
    for one in OURS:
        with monkeypatch.context() as patched:
            for name, value in services()[one]["environment"].items():
                patched.setenv(name, value)
            settings = Settings()
            assert settings.kafka == "kafka:9092"
            assert settings.bolt == "bolt://memgraph:7687"


@pytest.mark.thorough
def test_commands_are_those_of_the_command_line() -> None:
    """`graphtide … --help` knows the command of every service."""
    for one in OURS:
        command = [sys.executable, "-m", "graphtide.services.cli", *services()[one]["command"], "--help"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_ports_are_published_on_the_loopback_address_alone() -> None:
    """A start on a laptop in a public network exposes nothing to it."""
    for name, one in services().items():
        for port in one.get("ports", []):
            assert port["host_ip"] == "127.0.0.1", name


def test_ports_inside_are_those_that_the_settings_have() -> None:
    """A process listens at each port that another one connects to."""
    defaults = Settings.model_fields
    assert services()["gateway"]["ports"][0]["target"] == defaults["port"].default
    assert services()["gateway"]["environment"]["GRAPHTIDE_QUERY_TARGET"].endswith(f":{defaults['grpc_port'].default}")


def test_images_are_pinned() -> None:
    """No image is `latest`, and none is named without its version."""
    for name, one in services().items():
        assert PINNED.fullmatch(one["image"]), name
    for line in re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE):
        assert PINNED.fullmatch(line), line


def test_everything_that_is_mounted_is_there() -> None:
    """Each file and folder of the repository that a container mounts exists."""
    for name, one in services().items():
        for volume in one.get("volumes", []):
            if volume["type"] == "bind":
                assert (ROOT / volume["source"]).exists(), (name, volume["source"])


def test_our_containers_are_confined() -> None:
    """None may write to its image, gain privileges or keep capabilities."""
    for one in OURS:
        service = services()[one]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]


def test_memgraph_writes_each_commit_to_disk() -> None:
    """The flags without which an acknowledged commit can be lost are there, in compose and in the chart."""
    chart = (ROOT / "helm" / "templates" / "servers.yaml").read_text()
    for flag in (
        "--storage-mode=IN_MEMORY_TRANSACTIONAL",
        "--storage-wal-enabled=true",
        "--storage-wal-file-flush-every-n-tx=1",
        "--data-recovery-on-startup=true",
    ):
        assert flag in services()["memgraph"]["command"]
        assert f"- {flag}\n" in chart


class _Readiness(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the signature of the base class
        """Log nothing."""


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_health_command_tells_ready_from_not_ready(status: int, healthy: bool) -> None:
    """The real command of the health checks runs against a port that answers as a worker does."""
    answering = HTTPServer(("127.0.0.1", 0), type("_Handler", (_Readiness,), {"status": status}))
    Thread(target=answering.serve_forever, daemon=True).start()
    try:
        for one in OURS[1:]:
            kind, _, *arguments = services()[one]["healthcheck"]["test"]
            assert kind == "CMD"
            adapted = [argument.replace(":9464", f":{answering.server_port}") for argument in arguments]
            done = subprocess.run([sys.executable, *adapted], capture_output=True, check=False)
            assert (done.returncode == 0) is healthy
    finally:
        answering.shutdown()
        answering.server_close()
