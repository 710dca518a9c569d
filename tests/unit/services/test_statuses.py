"""The table of errors: complete, and saying what it must."""

from __future__ import annotations

import http
import json
from collections.abc import Iterator

import grpc
import pytest

from graphtide.services.api.schema.disclosure import ADDRESSES_SHOWN
from graphtide.services.api.schema.errors import (
    DEFAULT_RETRY_S,
    STATUSES,
    AllRejected,
    Rejection,
    Status,
    error_body,
    error_of,
    public_text,
    retry_after_s,
    status_of,
)
from graphtide.streams.errors import Fenced, GraphtideError, Invalid, NotFound, Overloaded, Retryable


def error_classes(root: type[GraphtideError] = GraphtideError) -> Iterator[type[GraphtideError]]:
    """The whole tree of errors, as far as the project has it."""
    yield root
    for each in root.__subclasses__():
        yield from error_classes(each)


def test_every_error_has_a_row_of_its_own() -> None:
    """A class that is added without a row is found here, not by a caller.

    Errors of adapters have the row of their parent; those of the client and of commands are answered to no caller.
    """
    answered = ("graphtide.graph.", "graphtide.streams.", "graphtide.services.access.", "graphtide.services.api.")
    ours = {each for each in error_classes() if each.__module__.startswith(answered)}
    assert {GraphtideError, Retryable, Invalid} < ours <= set(STATUSES), ours - set(STATUSES)


@pytest.mark.parametrize("status", STATUSES.values(), ids=lambda status: status.code)
def test_every_row_names_statuses_that_exist(status: Status) -> None:
    """HTTP status and gRPC code are ones that the protocols know, and say that something failed."""
    assert http.HTTPStatus(status.http).value >= 400
    assert grpc.StatusCode[status.grpc] is not grpc.StatusCode.OK


def test_status_is_that_of_the_nearest_class_when_a_class_has_no_row() -> None:
    """An unlisted subclass is reported with the status of its base class."""

    class Unforeseen(Fenced):
        pass

    assert status_of(Unforeseen("x")).code == "fenced"


def test_error_body_names_the_field_when_there_is_one() -> None:
    """The message does not repeat the field."""
    assert error_body(Invalid("facts[1]", "is wrong")) == {
        "error": {"code": "invalid", "message": "is wrong", "field": "facts[1]"}
    }
    assert error_body(NotFound("no graph g")) == {"error": {"code": "not_found", "message": "no graph g"}}


def test_error_body_lists_the_rejected_when_all_are() -> None:
    """The list is the one of a batch that was accepted in part."""
    body = error_body(AllRejected((Rejection(0, "", "body", "must be an object"),)))
    assert body["rejected"] == [{"index": 0, "field": "body", "message": "must be an object"}]
    assert body["accepted"] == 0


def test_error_told_by_another_process_comes_back_as_its_class() -> None:
    """Body and wait go out; class, field and wait come back; what cannot be read is an internal error."""
    errors = [kind("m") for kind in STATUSES if kind not in (Invalid, AllRejected)]
    for error in [*errors, Invalid("mode", "m"), Overloaded("m", 7), Retryable("m", 0.5)]:
        decoded = error_of(json.dumps(error_body(error)).encode(), retry_after_s(error))
        assert (type(decoded), error_body(decoded)) == (type(error), error_body(error))
        assert retry_after_s(decoded) == retry_after_s(error)
    for body in (b"", b"[]", b"{}", b'{"error": 1}', b"\xff"):
        assert type(error_of(body)) is GraphtideError


def test_retry_after_is_said_when_waiting_helps() -> None:
    """Overloaded and Retryable carry it; nothing else does."""
    found = [retry_after_s(error) for error in (Overloaded("x", 2), Retryable("x", 3), Retryable("x"), NotFound("x"))]
    assert found == [2, 3, DEFAULT_RETRY_S, None]


def test_caller_is_not_told_where_models_and_stores_are() -> None:
    """The words of a failure are kept, the addresses in them are not; a caller's own words are never changed."""
    message = "the language model endpoint http://models.internal:8000/v1/ cannot be reached (ConnectError)"
    ADDRESSES_SHOWN.set(False)
    for error in (Retryable(message), GraphtideError(message), Fenced("the store at bolt+s://db:7687, epoch 3")):
        text = json.dumps(error_body(error)) + public_text(error)
        assert "://" not in text
        assert ".internal" not in text
    assert public_text(Retryable(message)) == "the language model endpoint cannot be reached (ConnectError)"
    assert public_text(NotFound("no document https://a.example/b")) == "no document https://a.example/b"
    ADDRESSES_SHOWN.set(True)
    assert public_text(Retryable(message)) == message
