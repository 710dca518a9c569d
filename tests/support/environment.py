"""The environment of processes that tests start."""

from __future__ import annotations

import os
from collections.abc import Mapping

ANSWERS: Mapping[str, str] = {"GRAPHTIDE_ANSWER_MODEL": "rules"}
"""Tests that are not about the cross-encoder answer by rules alone: each process would load it, a second of CPU."""


def plain_environment(answers: Mapping[str, str] = ANSWERS) -> dict[str, str]:
    """Return the environment of this process without settings of Graphtide, except `answers`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GRAPHTIDE_")} | dict(answers)
