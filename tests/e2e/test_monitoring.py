"""A real Prometheus scrapes the running service under load, and every panel and every alert finds its metrics."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.support.llm_server import LlmServer
from tests.support.processes import service
from tests.support.prometheus import Programs, running
from tests.support.watching import POISON, RULES, Watched, unreadable

ROOT = Path(__file__).parents[2]
METRICS = ROOT / "docs" / "metrics.md"
RUNBOOKS = ROOT / "docs" / "runbooks.md"
WINDOW = "20s"
DASHBOARDS = {file.stem: json.loads(file.read_text()) for file in (ROOT / "infra/grafana/dashboards").glob("*.json")}


def ready(expression: str) -> str:
    """Return a panel's expression as Grafana would send it."""
    return expression.replace("$__rate_interval", WINDOW).replace("$graph", ".*")


def unconditioned(expression: str) -> str:
    """Return an alert's expression without its threshold, its windows shortened."""
    asked = re.sub(r"(==|[<>]=?) *(-?[\d.]+)", r"\1 bool \2", expression)
    asked = re.sub(r"\[10m:1m\]", "[10s:1s]", asked)
    return re.sub(r"\[\d+[mh]\]", f"[{WINDOW}]", asked)


async def test_every_panel_and_every_alert_finds_what_it_asks_for(watched: Watched) -> None:
    """Every PromQL expression is valid, and refers to existing metrics and labels."""
    empty = [
        f"{name}: {panel['title']}: {target['expr']}"
        for name, dashboard in DASHBOARDS.items()
        for panel in dashboard["panels"]
        for target in panel["targets"]
        if not watched.prometheus.query(ready(target["expr"]))
    ]
    rules = watched.prometheus.rules()
    for rule in rules:
        assert rule["health"] != "err", rule
        if rule["type"] == "alerting" and not watched.prometheus.query(unconditioned(rule["query"])):
            empty.append(f"{rule['name']}: {rule['query']}")
    assert not empty, "\n".join(empty)
    assert len(rules) == len([rule for group in _groups() for rule in group["rules"]])


async def test_every_metric_is_documented_and_every_documented_one_is_there(watched: Watched) -> None:
    """docs/metrics.md lists the metrics of the processes: names, kinds and labels."""
    found: dict[str, tuple[str, set[str]]] = {}
    for at in watched.targets:
        answered = await asyncio.to_thread(httpx.get, f"http://{at}/metrics")
        for family in text_string_to_metric_families(answered.text):
            if family.name.startswith("graphtide_") and not family.name.endswith("_created"):
                name = f"{family.name}_total" if family.type == "counter" else family.name
                labels = {label for sample in family.samples for label in sample.labels} - {"le"}
                kind, known = found.get(name, (family.type, set()))
                found[name] = (kind, known | labels)
    rows = re.findall(r"^\| `(graphtide_\w+)` \| (\w+) \| ([\w, ]*?) ?\|", METRICS.read_text(), re.MULTILINE)
    assert found == {name: (kind, set(filter(None, labels.split(", ")))) for name, kind, labels in rows}


def test_first_letter_of_the_first_document_raises_its_alert(tools: Programs, tmp_path: Path) -> None:
    """The first sample of the graph's series that a real Prometheus sees is already 1."""
    with LlmServer(says=unreadable) as llm:
        settings = {"GRAPHTIDE_LLM_MODEL": "fake", "GRAPHTIDE_LLM_API_KEY": "k", "GRAPHTIDE_LLM_BASE_URL": llm.base_url}
        with service(tmp_path / "data", settings) as one:
            targets = [("serve", httpx.URL(one.url).netloc.decode())]
            with running(tmp_path, targets, RULES) as prometheus:
                prometheus.wait_for("count_over_time(up[1m]) >= 2")
                httpx.put(f"{one.url}/v1/graphs/new/documents/a", json={"text": POISON}, timeout=120).raise_for_status()
                prometheus.wait_for('ALERTS{alertname="GraphtideDeadLetters",alertstate="firing",graph="new"}')


def test_dashboards_are_read_only_pages_of_one_family() -> None:
    """They are named after their files, linked to each other, filtered by graph and read from one data source."""
    assert DASHBOARDS
    for name, dashboard in DASHBOARDS.items():
        assert dashboard["uid"] == f"graphtide-{name}"
        assert dashboard["title"].startswith("Graphtide: ")
        assert (dashboard["tags"], dashboard["editable"]) == (["graphtide"], False)
        assert [link["tags"] for link in dashboard["links"]] == [["graphtide"]]
        assert [variable["name"] for variable in dashboard["templating"]["list"]] == ["graph"]
        parts = [part for panel in dashboard["panels"] for part in (panel, *panel["targets"])]
        assert all(part["datasource"] == {"type": "prometheus", "uid": "prometheus"} for part in parts)


def test_panels_explain_themselves_and_do_not_overlap() -> None:
    """Each has a number, a title and cells of its own, a descriptive sentence, and a legend for each line."""
    for dashboard in DASHBOARDS.values():
        panels = dashboard["panels"]
        for field in ("id", "title"):
            assert len({panel[field] for panel in panels}) == len(panels)
        cells = [cell for panel in panels for cell in _cells(panel["gridPos"])]
        assert len(set(cells)) == len(cells)
        for panel in panels:
            assert panel["description"].endswith("."), panel["title"]
            assert all(target["legendFormat"] for target in panel["targets"])


def _cells(place: dict[str, int]) -> Iterator[tuple[int, int]]:
    assert place["x"] + place["w"] <= 24
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            yield x, y


def test_alerts_lead_to_a_section_that_says_what_to_do() -> None:
    """The runbook that each alert names has a section of its name, and every section has an alert."""
    sections = re.findall(r"^## (\w+)$", RUNBOOKS.read_text(), re.MULTILINE)
    alerts = [rule["alert"] for group in _groups() for rule in group["rules"] if "alert" in rule]
    assert sections == alerts
    for group in _groups():
        for rule in group["rules"]:
            if "alert" in rule:
                assert rule["annotations"]["runbook"] == f"docs/runbooks.md#{rule['alert'].lower()}"
                assert rule["labels"]["severity"] in ("page", "ticket")


def test_rules_fire_when_they_should_and_only_then(tools: Programs, tmp_path: Path) -> None:
    """promtool runs the alerts' own tests, one of each kind for each alert."""
    for arguments in (
        ["check", "config", "--syntax-only", str(ROOT / "infra" / "prometheus" / "prometheus.yml")],
        ["check", "rules", str(RULES)],
        ["test", "rules", str(ROOT / "tests" / "e2e" / "alerts_test.yml")],
    ):
        done = subprocess.run([tools.promtool, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_is_tested_to_fire_and_to_be_silent() -> None:
    """Every rule has tests."""
    tests = yaml.safe_load((ROOT / "tests" / "e2e" / "alerts_test.yml").read_text())["tests"]
    seen: dict[str, set[bool]] = {}
    for one in tests:
        for case in one["alert_rule_test"]:
            seen.setdefault(case["alertname"], set()).add(bool(case.get("exp_alerts")))
    alerts = [rule["alert"] for group in _groups() for rule in group["rules"] if "alert" in rule]
    assert {name: {True, False} for name in alerts} == seen


def _groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"]
    return groups
