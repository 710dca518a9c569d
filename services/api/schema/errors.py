"""The one table from an error's class to what a caller sees: HTTP status, gRPC code, and a code for programs.

Not a handler: each transport raises or catches in its own way and asks here. Every class of `streams.errors` and of
this module has its own row (a test walks the tree), so no error reaches a caller by accident.
"""

# ruff: noqa: N818 -- named like the errors of streams/errors.py, each for what is to be done

from __future__ import annotations

import json
from dataclasses import dataclass

from graphtide.services.api.schema.disclosure import for_caller
from graphtide.streams.errors import (
    Broken,
    BudgetExceeded,
    DeadlineExceeded,
    Fenced,
    GraphStopped,
    GraphtideError,
    Invalid,
    NotFound,
    Overloaded,
    QueryError,
    Rejected,
    Retryable,
)


class MalformedRequest(QueryError):
    """The body is not what its content type says: broken JSON, wrong encoding."""


class UnsupportedContent(QueryError):
    """The body's type or encoding is not one that the service reads."""


class TooLarge(QueryError):
    """The body, or the batch, is larger than the service accepts."""


class SlowBody(QueryError):
    """The body did not arrive in time."""


class SlowReader(QueryError):
    """The answer was not read in time."""


class Unauthenticated(QueryError):
    """The request brings no valid credential."""


class Forbidden(QueryError):
    """The credential is valid, and was not given what the request asks for."""


class QuotaExceeded(Forbidden):
    """The graphs of the credential hold as much as it may store. Waiting does not help."""


class Unready(Retryable):
    """The process that was asked is starting. Nothing was done, and another one may be able to."""


class AllRejected(QueryError):
    """No document of a batch is good. `rejected` says why, one by one."""

    def __init__(self, rejected: tuple[Rejection, ...]) -> None:
        super().__init__(f"none of the {len(rejected)} documents was accepted; `rejected` says what is wrong with each")
        self.rejected = rejected


@dataclass(frozen=True, slots=True)
class Rejection:
    """A document of a batch that was not accepted: its place in the batch, from 0, and what is wrong with it."""

    index: int
    id: str
    field: str
    message: str

    def as_json(self) -> dict[str, object]:
        named: dict[str, object] = {"id": self.id} if self.id else {}
        return {"index": self.index, **named, "field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class Status:
    """How one class of errors looks outside. `grpc` is the name of a `grpc.StatusCode`."""

    code: str
    http: int
    grpc: str


STATUSES: dict[type[GraphtideError], Status] = {
    GraphtideError: Status("internal", 500, "INTERNAL"),
    Retryable: Status("unavailable", 503, "UNAVAILABLE"),
    Unready: Status("starting", 503, "UNAVAILABLE"),
    BudgetExceeded: Status("budget", 429, "RESOURCE_EXHAUSTED"),
    Rejected: Status("rejected", 422, "INVALID_ARGUMENT"),
    Broken: Status("broken", 500, "INTERNAL"),
    Fenced: Status("fenced", 503, "ABORTED"),
    GraphStopped: Status("graph_stopped", 500, "INTERNAL"),
    QueryError: Status("invalid", 400, "INVALID_ARGUMENT"),
    NotFound: Status("not_found", 404, "NOT_FOUND"),
    Invalid: Status("invalid", 422, "INVALID_ARGUMENT"),
    Overloaded: Status("overloaded", 429, "RESOURCE_EXHAUSTED"),
    DeadlineExceeded: Status("deadline_exceeded", 504, "DEADLINE_EXCEEDED"),
    MalformedRequest: Status("malformed", 400, "INVALID_ARGUMENT"),
    UnsupportedContent: Status("unsupported_content", 415, "INVALID_ARGUMENT"),
    TooLarge: Status("too_large", 413, "OUT_OF_RANGE"),
    Unauthenticated: Status("unauthenticated", 401, "UNAUTHENTICATED"),
    Forbidden: Status("forbidden", 403, "PERMISSION_DENIED"),
    QuotaExceeded: Status("quota_exceeded", 403, "PERMISSION_DENIED"),
    SlowBody: Status("slow_body", 408, "DEADLINE_EXCEEDED"),
    SlowReader: Status("slow_reader", 408, "DEADLINE_EXCEEDED"),
    AllRejected: Status("all_rejected", 422, "INVALID_ARGUMENT"),
}
"""OUT_OF_RANGE, not RESOURCE_EXHAUSTED, for what is too large: gRPC clients take the latter as "try again later"."""


UNSAID_S = 2.0
"""For something that is away, and nobody knows for how long."""


def status_of(error: GraphtideError) -> Status:
    """The row of the error's class, or of the nearest class above it."""
    return next(STATUSES[above] for above in type(error).__mro__ if above in STATUSES)


def retry_after_s(error: GraphtideError) -> float | None:
    """When the caller may try again: what the error says, or a little while; None where waiting does not help."""
    if not isinstance(error, Overloaded | Retryable):
        return None
    return UNSAID_S if error.retry_after_s is None else error.retry_after_s


def public_text(error: GraphtideError) -> str:
    """The error in words for the caller. A QueryError speaks of the request alone, so it is told as it is."""
    return str(error) if isinstance(error, QueryError) else for_caller(str(error))


def error_body(error: GraphtideError) -> dict[str, object]:
    """`{"error": {"code", "message", "field"?}}`, and the rejected documents of a batch beside it."""
    message = error.message if isinstance(error, Invalid) else public_text(error)
    said: dict[str, object] = {"code": status_of(error).code, "message": message}
    if isinstance(error, Invalid):
        said["field"] = error.field
    if isinstance(error, AllRejected):
        return {"error": said, "accepted": 0, "rejected": [each.as_json() for each in error.rejected]}
    return {"error": said}


def error_of(body: bytes, wait_s: float | None = None) -> GraphtideError:
    """The error that `error_body` told of, in another process: of the class that has its code.

    What cannot be read is an error of no special class, which says as much.
    """
    try:
        said = json.loads(body)["error"]
        code, message, field = str(said["code"]), str(said["message"]), said.get("field")
    except (ValueError, KeyError, TypeError, AttributeError):
        return GraphtideError("the service failed, and did not say how")
    if field is not None:
        return Invalid(str(field), message)
    kind = _BY_CODE.get(code, GraphtideError)
    if issubclass(kind, Overloaded):
        return kind(message, 1.0 if wait_s is None else wait_s)
    return kind(message, wait_s) if issubclass(kind, Retryable) else kind(message)


_BY_CODE = {status.code: kind for kind, status in reversed(STATUSES.items()) if kind not in (Invalid, AllRejected)}
"""Codes are one a class, but for `invalid`: with a field it is Invalid, without one QueryError."""
