"""Replies of models that should be JSON objects."""

from __future__ import annotations

import pytest

from infra.models.replies import object_of


@pytest.mark.parametrize("text", ["", "no", "[1]", "null", '{"a": 1', '{"a":' * 100_000, "[" * 100_000, '{"a": 1} yes'])
def test_reply_that_is_no_object_is_an_empty_one(text: str) -> None:
    """Whatever it is instead: nothing is raised, however deep it is nested."""
    assert object_of(text) == {}


def test_reply_that_is_an_object_is_given_as_it_is() -> None:
    """With blanks around it, as models leave them."""
    assert object_of('\n {"a": [1, null]} ') == {"a": [1, None]}
