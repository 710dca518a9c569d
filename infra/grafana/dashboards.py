"""Writer of the dashboards in Grafana's format: `python -m infra.grafana.dashboards`. A test keeps them up to date."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from graphtide.infra.grafana.panels import DASHBOARDS, Dashboard, Panel

FOLDER = Path(__file__).parent / "dashboards"
COLUMNS, WIDTH, HEIGHT = 2, 12, 8
STATS_A_ROW, STAT_WIDTH, STAT_HEIGHT = 4, 6, 4
SOURCE = {"type": "prometheus", "uid": "prometheus"}

Json = dict[str, Any]


def rendered(dashboard: Dashboard) -> str:
    """Return the dashboard's JSON."""
    body: Json = {
        "uid": f"graphtide-{dashboard.name}",
        "title": dashboard.title,
        "tags": ["graphtide"],
        "schemaVersion": 41,
        "editable": False,
        "timezone": "browser",
        "time": {"from": "now-1h", "to": "now"},
        "refresh": "15s",
        "links": [{"type": "dashboards", "tags": ["graphtide"], "title": "Graphtide", "asDropdown": True}],
        "templating": {"list": [_graphs()]},
        "panels": _placed(dashboard.panels),
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _graphs() -> Json:
    """Return the variable that selects a graph."""
    return {
        "name": "graph",
        "label": "Graph",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": "label_values(graphtide_graph_version, graph)", "refId": "graphs"},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _placed(panels: tuple[Panel, ...]) -> list[Json]:
    """Return the panels with positions: single figures in rows on top, the rest in two columns."""
    stats = [panel for panel in panels if panel.kind == "stat"]
    others = [panel for panel in panels if panel.kind != "stat"]
    found: list[Json] = []
    for place, panel in enumerate(stats):
        row, column = divmod(place, STATS_A_ROW)
        found.append(_panel(panel, len(found) + 1, (column * STAT_WIDTH, row * STAT_HEIGHT, STAT_WIDTH, STAT_HEIGHT)))
    top = STAT_HEIGHT * -(-len(stats) // STATS_A_ROW)
    for place, panel in enumerate(others):
        row, column = divmod(place, COLUMNS)
        found.append(_panel(panel, len(found) + 1, (column * WIDTH, top + row * HEIGHT, WIDTH, HEIGHT)))
    return found


def _panel(panel: Panel, number: int, place: tuple[int, int, int, int]) -> Json:
    x, y, w, h = place
    targets = [
        {"refId": chr(ord("A") + at), "datasource": SOURCE, "expr": expr, "legendFormat": legend, "editorMode": "code"}
        for at, (expr, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": {"x": x, "y": y, "w": w, "h": h},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def main() -> None:
    """Write all dashboards."""
    for dashboard in DASHBOARDS:
        (FOLDER / f"{dashboard.name}.json").write_text(rendered(dashboard))
        sys.stdout.write(f"wrote {dashboard.name}.json, {len(dashboard.panels)} panels\n")


if __name__ == "__main__":
    main()
