"""The errors of Graphtide: one small tree, in which the class decides the action.

    GraphtideError
    ├── Retryable          wait (retry_after_s, or a back-off when None), try again, do not advance
    │   └── Exhausted          a graph's budget is used up: likewise, and leave the place to others meanwhile
    ├── Rejected           will never work as it stands: dead-letter the record, then advance
    ├── Broken             nothing can go on safely: stop and raise an alarm
    │   ├── Fenced             another writer has taken over: drop what is in memory, claim again or leave
    │   └── GraphStopped       a graph's stored rows cannot be used: its records wait until it is rebuilt
    └── QueryError         the caller of a query is told; the services map each to an HTTP and a gRPC status
        ├── NotFound           no such graph or document
        ├── Invalid            a field of the request is wrong (``field`` names it)
        ├── Overloaded         too much at once; come back after ``retry_after_s``
        └── DeadlineExceeded   the answer was not ready in time

Adapters raise the most specific of these from their driver's error (``raise Retryable(...) from error``); no
driver's exception crosses a port. Messages are for people, and never contain a secret or a whole document.
"""

# ruff: noqa: N818 -- each name says what is to be done, which a suffix "Error" would only blur


class GraphtideError(Exception):
    """The root: everything that Graphtide raises on purpose."""


class Retryable(GraphtideError):
    """The same attempt may work later: wait ``retry_after_s`` seconds (None: use a back-off), then try again."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BudgetExceeded(Retryable):
    """A graph has spent what it may spend in a day. Nothing is wrong with the work, nor with the model."""


class Rejected(GraphtideError):
    """This input will never work, however often it is tried: dead-letter it, then advance."""


class Broken(GraphtideError):
    """An invariant does not hold, so going on would do damage: stop, say why, wait for a person."""


class Fenced(Broken):
    """The store's watermark is not the one this writer holds: another took over, or the commit was done already."""


class GraphStopped(Broken):
    """The stored rows of ``graph`` cannot be restored or continued; no record is to blame for it."""

    def __init__(self, message: str, graph: str = "") -> None:
        super().__init__(message)
        self.graph = graph


class QueryError(GraphtideError):
    """A request cannot be answered; nothing was changed."""


class NotFound(QueryError):
    """There is no such graph or document."""


class Invalid(QueryError):
    """A request is malformed; ``field`` is the path of what is wrong, as the caller wrote it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class Overloaded(QueryError):
    """More is asked than can be served now; try again after ``retry_after_s`` seconds."""

    def __init__(self, message: str, retry_after_s: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlineExceeded(QueryError):
    """The answer was not ready before the caller's deadline."""
