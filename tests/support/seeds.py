"""Seeds of a random walk: a few in the fast layer, more in the thorough one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def seeds(fast: int, thorough: int) -> list[ParameterSet]:
    """Return the parameters 0 to `thorough` - 1; those from `fast` on have the mark of the thorough layer."""
    slow = (pytest.param(seed, marks=pytest.mark.thorough) for seed in range(fast, thorough))
    return [*map(pytest.param, range(fast)), *slow]
