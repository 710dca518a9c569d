"""Parameters of the browse operations: what is absent has a default, what is empty or out of bounds is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graphtide.services.api.schema.requests import browsing
from graphtide.streams.errors import Invalid

READERS: dict[str, Callable[[dict[str, str]], object]] = {
    "limit": browsing.graph_page,
    "level": browsing.community_page,
    "hops": browsing.neighbourhood_size,
    "k": browsing.group_size,
    "state": browsing.document_query,
    "sort": browsing.entity_query,
    "wait_s": browsing.wait_seconds,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("value", ["", " ", "{}", "-1", "1e3", "x"])
def test_value_that_the_description_forbids_is_refused(name: str, value: str) -> None:
    """An empty value is not an absent one: a client that sends it made a mistake."""
    READERS[name]({})
    with pytest.raises(Invalid, match=name):
        READERS[name]({name: value})
