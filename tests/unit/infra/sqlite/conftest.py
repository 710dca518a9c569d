"""An open data folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphtide.infra.sqlite import SqliteBackend


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[SqliteBackend]:
    one = await SqliteBackend.open(tmp_path)
    yield one
    await one.close()
