"""Renamed settings: the names of the previous release, accepted for one release beside the present ones.

Invariants: each use of an old name yields one warning that names the present one, and a setting that is given under
both names, wherever that is, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RENAMED = {
    "budget_stops_questions": "budget_blocks_queries",
    "drain_s": "shutdown_delay_s",
    "insecure": "allow_unauthenticated",
    "jwt_claim": "jwt_permissions_claim",
    "llm_judge": "llm_entity_judge",
    "max_batch": "max_batch_documents",
    "metrics_open": "metrics_public",
    "otlp_sampled_share": "otlp_sample_ratio",
    "prompts": "prompts_dir",
    "query": "query_target",
    "reports_lazy": "lazy_reports",
    "reports_least_change": "report_change_threshold",
    "single_valued": "functional_predicates_file",
    "tries_per_minute": "failed_auth_per_minute",
    "write_models": "max_write_models",
}
"""The old name of each renamed setting, and its present name."""


class DuplicateSettingError(ValueError):
    """A setting is given under its old and its present name."""


@dataclass(frozen=True, slots=True)
class Source:
    """A source of settings: the words that follow a name in it, its prefix of names, and the values by name."""

    place: str
    prefix: str
    values: Mapping[str, object]

    def label(self, name: str) -> str:
        """Return the setting's name as this source spells it, and the source."""
        return f"{self.prefix + name.upper() if self.prefix else name} {self.place}"


def deprecations(sources: list[Source]) -> list[str]:
    """Return one warning per old name. Raises DuplicateSettingError if the present name is given, too."""
    found = []
    for old, new in RENAMED.items():
        olds = [source for source in sources if old in source.values]
        news = [source for source in sources if new in source.values]
        if olds and news:
            raise DuplicateSettingError(
                f"{olds[0].label(old)} and {news[0].label(new)} are the same setting under its old and present name: "
                f"remove {old}"
            )
        found += [
            f"{each.label(old)} is the old name of {new}, accepted until the next release: rename it" for each in olds
        ]
    return found


def renamed(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values under the present names."""
    return {RENAMED.get(name, name): value for name, value in values.items()}


def spellings(sources: list[Source]) -> dict[str, str]:
    """Return the present name of each setting that is given under its old name, with that name."""
    return {RENAMED[name]: name for source in sources for name in source.values if name in RENAMED}
