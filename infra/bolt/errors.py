"""What to do about an error of the Bolt driver: one table from its classes to the errors of Graphtide.

Invariant: no exception of the driver leaves the adapter, and every class it has stands here (a test looks).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import exceptions as driver

from graphtide.streams.errors import Broken, GraphtideError, Rejected, Retryable

_AGAIN = "it goes on when the server answers again"
_OURS = "Graphtide used the driver wrongly"

TABLE: dict[type[Exception], tuple[type[Retryable] | type[Broken], str]] = {
    # What the server says.
    driver.TransientError: (Retryable, "the graph database could not do it now"),
    driver.DatabaseUnavailable: (Retryable, f"the graph database is not available; {_AGAIN}"),
    driver.NotALeader: (Retryable, "the graph database is choosing a leader"),
    driver.ForbiddenOnReadOnlyDatabase: (Retryable, "the graph database takes no writes now"),
    driver.ConstraintError: (Retryable, "another writer made the same thing at the same time"),
    driver.AuthError: (Broken, "the graph database does not accept the credentials: check bolt_user and bolt_password"),
    driver.TokenExpired: (
        Broken,
        "the graph database's credentials have expired: set bolt_user and bolt_password anew",
    ),
    driver.Forbidden: (
        Broken,
        "the graph database's user may not do this: give it the right to read, write and make indexes",
    ),
    driver.CypherSyntaxError: (
        Broken,
        "the graph database does not understand a statement: is it Neo4j 5 or a recent Memgraph?",
    ),
    driver.CypherTypeError: (Broken, "a statement and its values do not fit"),
    driver.ClientError: (Broken, "the graph database refuses a statement"),
    driver.DatabaseError: (Broken, "the graph database failed: see its log"),
    driver.Neo4jError: (Broken, "the graph database failed in an unknown way"),
    # What happens on the way to it.
    driver.ServiceUnavailable: (Retryable, f"the graph database does not answer; {_AGAIN}"),
    driver.RoutingServiceUnavailable: (Retryable, f"no router of the graph database answers; {_AGAIN}"),
    driver.WriteServiceUnavailable: (Retryable, f"no writer of the graph database answers; {_AGAIN}"),
    driver.ReadServiceUnavailable: (Retryable, f"no reader of the graph database answers; {_AGAIN}"),
    driver.SessionExpired: (Retryable, f"the connection to the graph database was lost; {_AGAIN}"),
    driver.IncompleteCommit: (Retryable, "the connection was lost on a commit, whose outcome is unknown"),
    # What is configured.
    driver.ConfigurationError: (Broken, "the settings of the graph database contradict each other"),
    driver.AuthConfigurationError: (Broken, "the credentials of the graph database cannot be used: check bolt_user"),
    driver.CertificateConfigurationError: (Broken, "the certificate cannot be used: check bolt_ca_file"),
    driver.UnsupportedServerProduct: (
        Broken,
        "this is no graph database that Graphtide knows: use Neo4j 5 or Memgraph",
    ),
    # What only a mistake of ours brings about.
    driver.BrokenRecordError: (Broken, "the graph database sent what the driver cannot read"),
    driver.ResultError: (Broken, _OURS),
    driver.ResultConsumedError: (Broken, _OURS),
    driver.ResultFailedError: (Broken, _OURS),
    driver.ResultNotSingleError: (Broken, _OURS),
    driver.SessionError: (Broken, _OURS),
    driver.TransactionError: (Broken, _OURS),
    driver.TransactionNestingError: (Broken, _OURS),
    driver.DriverError: (Broken, "the driver of the graph database failed"),
    driver.GqlError: (Broken, "the graph database failed in an unknown way"),
}

DRIVER_ERRORS = (driver.GqlError, driver.UnsupportedServerProduct, OSError)
"""All that the driver raises. OSError: what its sockets say before it has wrapped it."""

_CLOSED = "the handler is closed"

_UNIQUE = "unique constraint violation"
_SAID_CHARS = 300


def is_closed_transport(error: RuntimeError) -> bool:
    """Whether uvloop says so that a connection is gone: where asyncio raises an OSError, it raises this."""
    return _CLOSED in str(error)


def is_unresolved(error: ValueError) -> bool:
    """Whether the driver says so that nobody knows the server's name, which may come back: an OSError is its cause."""
    return isinstance(error.__cause__, OSError)


def failure(error: Exception) -> GraphtideError:
    """The error to raise from `error`: that of its most specific class in the table."""
    if isinstance(error, driver.ClientError) and _UNIQUE in str(error):  # Memgraph has no class of its own for it
        error_class: type[Exception] = driver.ConstraintError
    else:
        error_class = next((one for one in type(error).__mro__ if one in TABLE), driver.ServiceUnavailable)
    kind, meaning = TABLE[error_class]
    return kind(f"{meaning} ({_said(error)})")


@contextmanager
def translate_errors() -> Iterator[None]:
    """What the driver raises in the block comes out as an error of ours."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise Rejected(f"a text cannot be stored: {error.reason} at character {error.start}") from error
    except (*DRIVER_ERRORS, RuntimeError, ValueError) as error:
        if isinstance(error, RuntimeError) and not is_closed_transport(error):
            raise
        if isinstance(error, ValueError) and not is_unresolved(error):
            raise
        raise failure(error) from error


def _said(error: Exception) -> str:
    """What the driver said, cut short: values of a document may be in it."""
    if isinstance(error, driver.Neo4jError):
        return f"{error.code or type(error).__name__}: {str(error.message or error)[:_SAID_CHARS]}"
    return f"{type(error).__name__}: {str(error)[:_SAID_CHARS]}"
