"""Old names of metrics: exported beside the present ones when the setting asks for it."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from graphtide.infra.observability.metrics.legacy_names import LEGACY_LABELS, LEGACY_NAMES, LegacyNamesRegistry
from graphtide.infra.settings import Settings
from graphtide.services.process.serve import new_registry

ROOT = Path(__file__).parents[3]


def exported(registry: CollectorRegistry) -> list[str]:
    """Return the samples that the registry exports."""
    lines = generate_latest(registry).decode().splitlines()
    return [line for line in lines if not line.startswith("#") and "_created" not in line]


def test_registry_exports_a_renamed_gauge_and_counter_under_both_names() -> None:
    """The value and the labels are the same under the old name; other metrics appear once."""
    registry = LegacyNamesRegistry()
    Gauge("graphtide_revisions_pending", "x", ["graph"], registry=registry).labels("g").set(3)
    Counter("graphtide_extraction_cache_hits", "x", registry=registry).inc(2)
    Gauge("graphtide_graph_version", "x", registry=registry).set(1)
    assert exported(registry) == [
        'graphtide_revisions_pending{graph="g"} 3.0',
        'graphtide_documents_waiting{graph="g"} 3.0',
        "graphtide_extraction_cache_hits_total 2.0",
        "graphtide_llm_remembered_total 2.0",
        "graphtide_graph_version 1.0",
    ]


def test_registry_exports_a_renamed_label_under_both_names() -> None:
    """Queries that group by the old label work with the new one present."""
    registry = LegacyNamesRegistry()
    Counter("graphtide_spans", "x", ["outcome"], registry=registry).labels("sent").inc()
    assert exported(registry) == ['graphtide_spans_total{fate="sent",outcome="sent"} 1.0']


def test_processes_export_old_names_only_when_the_setting_says_so() -> None:
    """The default exports the present names alone."""
    assert not isinstance(new_registry(Settings()), LegacyNamesRegistry)
    assert isinstance(new_registry(Settings(legacy_metric_names=True)), LegacyNamesRegistry)


def test_metrics_page_lists_every_old_name_and_no_panel_or_alert_uses_one() -> None:
    """The table of old names is that of the code; dashboards and alerts read the present names."""
    table = (ROOT / "docs" / "metrics.md").read_text().partition("## Renamed")[2]
    listed = dict(
        re.findall(r"^\| `(graphtide_\w+?)(?:_total)?` \| `(graphtide_\w+?)(?:_total)?` \|$", table, re.MULTILINE)
    )
    assert {new: old for old, new in listed.items()} == LEGACY_NAMES
    readers = [*(ROOT / "infra" / "grafana").rglob("*.json"), *(ROOT / "infra" / "prometheus").glob("*.yml")]
    text = "".join(file.read_text() for file in readers)
    assert not [old for old in LEGACY_NAMES.values() if re.search(rf"\b{old}(_total)?\b", text)]
    assert not [old for names in LEGACY_LABELS.values() for old in names.values() if re.search(rf"\b{old}\b", text)]
