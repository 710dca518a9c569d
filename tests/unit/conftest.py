"""Fixtures of the unit tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphtide.graph.vector_store import keep_in_chunks
from tests.support.checkpoint_places import KINDS, empty_place
from tests.support.object_store import s3_server


@pytest.fixture(params=[False, True], ids=["bytes", "chunks"])
def vector_form(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Hold vectors in either of their forms during a test; return whether they are in chunks."""
    keep_in_chunks(request.param)
    yield request.param
    keep_in_chunks(False)


@pytest.fixture(scope="module")
def object_store() -> Iterator[Any]:
    """Yield a client of an S3 server that runs during the tests of a module."""
    with s3_server() as client:
        yield client


@pytest.fixture(params=KINDS)
def checkpoint_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Yield the URL of an empty place of checkpoints of each kind."""
    with empty_place(request.param, tmp_path, lambda: request.getfixturevalue("object_store")) as url:
        yield url
