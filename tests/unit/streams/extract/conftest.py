"""Both implementations of the storage."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.backends import NAMES, Backend, Clock, opened


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """Both implementations of the storage."""
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one
