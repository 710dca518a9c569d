"""Both implementations of the storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backends import NAMES, Clock, opened
from tests.support.consolidate_harness import ConsolidateHarness


@pytest.fixture(params=NAMES)
async def harness(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ConsolidateHarness]:
    """Both implementations of the storage."""
    async with opened(request.param, tmp_path, Clock()) as backend:
        yield ConsolidateHarness(backend)
