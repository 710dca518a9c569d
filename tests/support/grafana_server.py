"""A real Grafana for tests, its server without its pages, provisioned from this repository's folder.

It is Grafana 10.0, the newest version published as a module; tests use its HTTP API.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.support import go_tools
from tests.support.kubernetes_server import wait_until
from tests.support.ports import free_ports

ROOT = Path(__file__).parents[2]
PROVISIONING = ROOT / "infra" / "grafana" / "provisioning"
DASHBOARDS = ROOT / "infra" / "grafana" / "dashboards"
MOUNTED = "/var/lib/grafana/dashboards"  # the mount paths of compose.yaml
# Other folders of Grafana's image that may be empty and must exist.
OTHERS = ("plugins", "notifiers", "alerting")


@dataclass(frozen=True, slots=True)
class Grafana:
    """A running Grafana, accessed without login."""

    client: httpx.Client
    log: Path

    def get(self, path: str) -> Any:
        """Return the document at a path of the API."""
        answer = self.client.get(path)
        answer.raise_for_status()
        return answer.json()

    def frames(self, target: dict[str, Any]) -> list[dict[str, Any]]:
        """Return a panel's data of the last ten minutes. Raises AssertionError with Grafana's error message."""
        query = {**target, "range": True, "intervalMs": 1_000, "maxDataPoints": 600}
        body = {"queries": [query], "from": "now-10m", "to": "now"}
        result = self.client.post("/api/ds/query", json=body).json()["results"][target["refId"]]
        assert "error" not in result, f"{result['error']}: {target['expr']}"
        frames: list[dict[str, Any]] = result["frames"]
        return [frame for frame in frames if frame["data"]["values"]]


@contextmanager
def grafana(folder: Path, prometheus: str) -> Iterator[Grafana]:
    """Yield Grafana as compose.yaml configures it, with a Prometheus of the test's."""
    _provision(folder, prometheus)
    (port,) = free_ports(1)
    compose = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["grafana"]["environment"]
    own = {
        "GF_PATHS_DATA": str(folder / "data"),
        "GF_PATHS_LOGS": str(folder / "logs"),
        "GF_PATHS_PLUGINS": str(folder / "plugins"),
        "GF_PATHS_PROVISIONING": str(folder / "provisioning"),
        "GF_SERVER_HTTP_ADDR": "127.0.0.1",
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_LOG_MODE": "console",
    }
    settings = {name: value.replace(MOUNTED, str(DASHBOARDS)) for name, value in compose.items()}
    command = [str(go_tools.grafana()), "server", "--homepath", str(go_tools.module(go_tools.GRAFANA))]
    log = folder / "grafana.log"
    with (
        log.open("wb") as written,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client,
        subprocess.Popen(command, env=os.environ | settings | own, stdout=written, stderr=written) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or _healthy(client))
            assert process.poll() is None, log.read_text()[-2000:]
            yield Grafana(client, log)
        finally:
            process.terminate()


def _healthy(client: httpx.Client) -> bool:
    try:
        return client.get("/api/health").is_success
    except httpx.TransportError:
        return False


def _provision(folder: Path, prometheus: str) -> None:
    """Write the repository's provisioning, with the addresses of this machine instead of the containers'."""
    for name in OTHERS:
        (folder / "provisioning" / name).mkdir(parents=True)
    for file in PROVISIONING.glob("*/*.yml"):
        there = folder / "provisioning" / file.parent.name / file.name
        there.parent.mkdir()
        text = file.read_text()
        there.write_text(text.replace(MOUNTED, str(DASHBOARDS)).replace("http://prometheus:9090", prometheus))
        assert there.read_text() != text
