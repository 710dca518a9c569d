"""The error tree of Graphtide: the class of an error decides the action.

    GraphtideError
    ├── Retryable          wait (retry_after_s, or a back-off when None), try again, do not advance
    │   ├── NotLoaded          the graph is not in this process's memory: ask another process, or ask again and wait
    │   └── BudgetExceeded     a graph's budget is used up: wait as for Retryable, and release the slot meanwhile
    ├── Rejected           the input can never be processed: dead-letter the record, then advance
    ├── Broken             continuing would be unsafe: stop and raise an alarm
    │   ├── Fenced             another writer has taken over: drop the state in memory, then claim again or leave
    │   └── GraphStopped       a graph's stored rows cannot be used: its records wait until the graph is rebuilt
    └── QueryError         the caller of a query receives the error; services map each to an HTTP and a gRPC status
        ├── NotFound           no such graph or document
        ├── Invalid            a field of the request is wrong (``field`` names it)
        ├── Expired            a listing or a feed is too old to continue: begin again
        ├── Overloaded         too many requests; the caller retries after ``retry_after_s``
        └── DeadlineExceeded   the answer was not ready in time

Adapters raise the most specific of these from their driver's error (``raise Retryable(...) from error``); no
driver's exception crosses a port. Messages are written for operators and callers, and never contain a secret or a
whole document.
"""

# ruff: noqa: N818 -- each name states the action to take, which a suffix "Error" would obscure

from graphtide.streams.json_parts import escape_surrogates


class GraphtideError(Exception):
    """The root of every error that Graphtide raises on purpose."""


class Retryable(GraphtideError):
    """A temporary failure: wait ``retry_after_s`` seconds (None: use a back-off), then try again."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BudgetExceeded(Retryable):
    """The daily budget of a graph is used up. Neither the work nor the model has failed."""


class NotLoaded(Retryable):
    """A graph that is stored but not in this process's memory, for a request that does not wait for its load."""


class Rejected(GraphtideError):
    """An input that can never be processed, however often it is tried: dead-letter it, then advance."""


class Broken(GraphtideError):
    """A violated invariant: continuing would corrupt data. Stop, report the reason and wait for an operator."""


class Fenced(Broken):
    """A watermark conflict: another writer has taken over the partition, or the commit was applied already."""


class GraphStopped(Broken):
    """An unusable graph: the stored rows of ``graph`` cannot be restored or extended, and no record caused that."""

    def __init__(self, message: str, graph: str = "") -> None:
        super().__init__(message)
        self.graph = graph


class QueryError(GraphtideError):
    """A request that cannot be answered; nothing was changed."""


class NotFound(QueryError):
    """A graph or document that does not exist."""


class Invalid(QueryError):
    """A malformed request; ``field`` is the path of the wrong field, as the caller wrote it."""

    def __init__(self, field: str, message: str) -> None:
        self.field = escape_surrogates(field)
        self.message = escape_surrogates(message)
        super().__init__(f"{self.field}: {self.message}")


class Expired(QueryError):
    """A listing or a feed that is older than what is retained; the caller begins again."""


class Overloaded(QueryError):
    """More requests than can be served now; the caller retries after ``retry_after_s`` seconds."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlineExceeded(QueryError):
    """An answer that was not ready before the caller's deadline."""
