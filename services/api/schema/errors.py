"""The table from error classes to the caller's view: HTTP status, gRPC code, and a code for programs.

Each transport reports errors in its own way with this table. Every class of `streams.errors` and of
this module has its own row (a test walks the tree), so no error reaches a caller by accident.
"""

# ruff: noqa: N818 -- named like the errors of streams/errors.py, each for the required action

from __future__ import annotations

import json
from dataclasses import dataclass

from graphtide.services.api.schema.disclosure import for_caller
from graphtide.streams.errors import (
    Broken,
    BudgetExceeded,
    DeadlineExceeded,
    Expired,
    Fenced,
    GraphStopped,
    GraphtideError,
    Invalid,
    NotFound,
    NotLoaded,
    Overloaded,
    QueryError,
    Rejected,
    Retryable,
)


class MalformedRequest(QueryError):
    """The body does not match its content type: malformed JSON, wrong encoding."""


class UnsupportedContent(QueryError):
    """The service does not support the body's type or encoding."""


class TooLarge(QueryError):
    """The body, or the batch, is larger than the service accepts."""


class SlowBody(QueryError):
    """The body did not arrive in time."""


class SlowReader(QueryError):
    """The client did not read the answer in time."""


class Unauthenticated(QueryError):
    """The request has no valid credential."""


class Forbidden(QueryError):
    """The credential is valid, but does not grant the requested action or graph."""


class QuotaExceeded(Forbidden):
    """The graphs of the credential have reached its quota. Waiting does not help."""


class Unready(Retryable):
    """The process is starting. Nothing was done; another process may be able to serve the request."""


class AllRejected(QueryError):
    """No document of a batch is valid. `rejected` holds the reason of each rejection."""

    def __init__(self, rejected: tuple[Rejection, ...]) -> None:
        super().__init__(f"none of the {len(rejected)} documents was accepted; correct each as `rejected` describes")
        self.rejected = rejected


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejected document of a batch: its position in the batch, from 0, and the reason."""

    index: int
    id: str
    field: str
    message: str

    def as_json(self) -> dict[str, object]:
        named: dict[str, object] = {"id": self.id} if self.id else {}
        return {"index": self.index, **named, "field": self.field, "message": self.message}


@dataclass(frozen=True, slots=True)
class Status:
    """The status and codes of one error class. `grpc` is the name of a `grpc.StatusCode`."""

    code: str
    http: int
    grpc: str


STATUSES: dict[type[GraphtideError], Status] = {
    GraphtideError: Status("internal", 500, "INTERNAL"),
    Retryable: Status("unavailable", 503, "UNAVAILABLE"),
    NotLoaded: Status("not_loaded", 503, "UNAVAILABLE"),
    Unready: Status("starting", 503, "UNAVAILABLE"),
    BudgetExceeded: Status("budget", 429, "RESOURCE_EXHAUSTED"),
    Rejected: Status("rejected", 422, "INVALID_ARGUMENT"),
    Broken: Status("broken", 500, "INTERNAL"),
    Fenced: Status("fenced", 503, "ABORTED"),
    GraphStopped: Status("graph_stopped", 500, "INTERNAL"),
    QueryError: Status("invalid", 400, "INVALID_ARGUMENT"),
    NotFound: Status("not_found", 404, "NOT_FOUND"),
    Invalid: Status("invalid", 422, "INVALID_ARGUMENT"),
    Expired: Status("expired", 410, "FAILED_PRECONDITION"),
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
"""TooLarge maps to OUT_OF_RANGE, because gRPC clients interpret RESOURCE_EXHAUSTED as "try again later"."""


DEFAULT_RETRY_S = 2.0
"""Seconds to wait when a component is unreachable for an unknown time."""


def status_of(error: GraphtideError) -> Status:
    """Return the row of the error's class, or of its nearest base class."""
    return next(STATUSES[above] for above in type(error).__mro__ if above in STATUSES)


def retry_after_s(error: GraphtideError) -> float | None:
    """Return the seconds until a retry: those of the error, or the default; None when waiting does not help."""
    if not isinstance(error, Overloaded | Retryable):
        return None
    return DEFAULT_RETRY_S if error.retry_after_s is None else error.retry_after_s


def public_text(error: GraphtideError) -> str:
    """Return the error's text for the caller. A QueryError describes the request only, so its text is complete."""
    return str(error) if isinstance(error, QueryError) else for_caller(str(error))


def error_body(error: GraphtideError) -> dict[str, object]:
    """Return `{"error": {"code", "message", "field"?}}`, with the rejected documents of a batch."""
    message = error.message if isinstance(error, Invalid) else public_text(error)
    detail: dict[str, object] = {"code": status_of(error).code, "message": message}
    if isinstance(error, Invalid):
        detail["field"] = error.field
    if isinstance(error, AllRejected):
        return {"error": detail, "accepted": 0, "rejected": [each.as_json() for each in error.rejected]}
    return {"error": detail}


def error_of(body: bytes, wait_s: float | None = None) -> GraphtideError:
    """Return the error that `error_body` encoded in another process, with the class of its code.

    An unreadable body becomes a plain GraphtideError.
    """
    try:
        detail = json.loads(body)["error"]
        code, message, field = str(detail["code"]), str(detail["message"]), detail.get("field")
    except (ValueError, KeyError, TypeError, AttributeError):
        return GraphtideError("the service failed without a readable error; see its log")
    if field is not None:
        return Invalid(str(field), message)
    kind = _BY_CODE.get(code, GraphtideError)
    if issubclass(kind, Overloaded):
        return kind(message, 1.0 if wait_s is None else wait_s)
    return kind(message, wait_s) if issubclass(kind, Retryable) else kind(message)


_BY_CODE = {status.code: kind for kind, status in reversed(STATUSES.items()) if kind not in (Invalid, AllRejected)}
"""Each code belongs to one class, except `invalid`: Invalid with a field, QueryError without one."""
