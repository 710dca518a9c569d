"""Legacy names of metrics: those of the previous release, exported beside the present ones on request.

For dashboards and alerts that are not migrated yet: the setting `legacy_metric_names`, for one release.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.samples import Sample

LEGACY_NAMES = {
    "graphtide_endpoint_in_flight": "graphtide_endpoint_under_way",
    "graphtide_endpoint_unhealthy": "graphtide_endpoint_trouble",
    "graphtide_extraction_cache_hits": "graphtide_llm_remembered",
    "graphtide_extraction_items_dropped": "graphtide_llm_dropped",
    "graphtide_oldest_pending_seconds": "graphtide_oldest_waiting_seconds",
    "graphtide_partition_assigned": "graphtide_partition_held",
    "graphtide_revisions_pending": "graphtide_documents_waiting",
    "graphtide_security_file_stale": "graphtide_guard_stale",
}
"""The old name of each renamed metric, without the suffix of its kind."""
LEGACY_LABELS = {"graphtide_spans": {"outcome": "fate"}}
"""The old name of each renamed label, by metric."""


class LegacyNamesRegistry(CollectorRegistry):
    """A registry that exports every renamed metric under both names, with every renamed label under both names."""

    def collect(self) -> Iterator[Metric]:
        """Yield each metric, followed by its copy under the old name. Cost: one copy per renamed sample."""
        for metric in super().collect():
            labels = LEGACY_LABELS.get(metric.name)
            yield _with_labels(metric, labels) if labels else metric
            if old := LEGACY_NAMES.get(metric.name):
                yield _renamed(metric, old)


def _renamed(metric: Metric, old: str) -> Metric:
    copy = Metric(old, f"Old name of {metric.name}. {metric.documentation}", metric.type)
    copy.samples = [sample._replace(name=old + sample.name.removeprefix(metric.name)) for sample in metric.samples]
    return copy


def _with_labels(metric: Metric, names: dict[str, str]) -> Metric:
    copy = Metric(metric.name, metric.documentation, metric.type)
    copy.samples = [_with_both(sample, names) for sample in metric.samples]
    return copy


def _with_both(sample: Sample, names: dict[str, str]) -> Sample:
    old = {names[label]: value for label, value in sample.labels.items() if label in names}
    return sample._replace(labels=sample.labels | old)
