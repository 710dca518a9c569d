"""The dashboards in a real Grafana, which queries a real Prometheus, which scrapes the running service under load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.grafana_server import DASHBOARDS, grafana
from tests.support.kubernetes_server import wait_until
from tests.support.watching import Watched

pytestmark = pytest.mark.timeout(1800)  # the first build of Grafana


def written() -> dict[str, dict[str, Any]]:
    """Return the dashboards of the repository, by their uid."""
    found = [json.loads(file.read_text()) for file in DASHBOARDS.glob("*.json")]
    return {one["uid"]: one for one in found}


async def test_grafana_shows_every_dashboard_with_data_in_every_panel(watched: Watched, tmp_path: Path) -> None:
    """It is provisioned without an error, seen without a login, read-only, and no panel stays empty."""
    with grafana(tmp_path / "grafana", watched.prometheus.url) as server:
        wait_until(lambda: len(server.get("/api/search?type=dash-db")) == len(written()))
        shown = {one["uid"]: one["folderTitle"] for one in server.get("/api/search?type=dash-db")}
        assert shown == dict.fromkeys(written(), "Graphtide")
        assert server.get("/api/dashboards/home")["dashboard"]["title"] == "Graphtide: overview"
        empty = []
        for uid, wanted in written().items():
            found = server.get(f"/api/dashboards/uid/{uid}")
            assert found["meta"]["provisioned"]
            assert not found["meta"]["canSave"]
            assert found["dashboard"]["panels"] == wanted["panels"]
            for panel in wanted["panels"]:
                for target in panel["targets"]:
                    asked = target | {"expr": target["expr"].replace("$graph", ".*")}
                    if not server.frames(asked):
                        empty.append(f"{uid}: {panel['title']}: {asked['expr']}")
        assert not empty, "\n".join(empty)
        complaints = [line for line in server.log.read_text().splitlines() if "level=error" in line]
        assert not [line for line in complaints if "generated javascript" not in line]  # no pages installed
