"""Fixtures of the unit tests."""

from collections.abc import Iterator

import pytest

from graphtide.graph.vector_store import keep_in_chunks


@pytest.fixture(params=[False, True], ids=["bytes", "chunks"])
def vector_form(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Hold vectors in either of their forms during a test; return whether they are in chunks."""
    keep_in_chunks(request.param)
    yield request.param
    keep_in_chunks(False)
