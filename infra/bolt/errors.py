"""Error translation of the Bolt driver: one table from its exceptions to the errors of Graphtide.

Invariant: no exception of the driver leaves the adapter, and the table names every class of the driver (a test checks
it).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from neo4j import exceptions as driver

from graphtide.streams.errors import Broken, GraphtideError, Rejected, Retryable

_AGAIN = "work continues when the server answers again"
_OURS = "Graphtide used the driver wrongly"

TABLE: dict[type[Exception], tuple[type[Retryable] | type[Broken], str]] = {
    # Reported by the server.
    driver.TransientError: (Retryable, "the graph database could not run the statement now"),
    driver.DatabaseUnavailable: (Retryable, f"the graph database is not available; {_AGAIN}"),
    driver.NotALeader: (Retryable, "the graph database is choosing a leader"),
    driver.ForbiddenOnReadOnlyDatabase: (Retryable, "the graph database accepts no writes now"),
    driver.ConstraintError: (Retryable, "another writer created the same row at the same time"),
    driver.AuthError: (Broken, "the graph database does not accept the credentials: check bolt_user and bolt_password"),
    driver.TokenExpired: (
        Broken,
        "the graph database's credentials have expired: set bolt_user and bolt_password anew",
    ),
    driver.Forbidden: (
        Broken,
        "the graph database's user lacks a permission: grant it read, write and index creation",
    ),
    driver.CypherSyntaxError: (
        Broken,
        "the graph database does not understand a statement: is it Neo4j 5 or a recent Memgraph?",
    ),
    driver.CypherTypeError: (Broken, "a statement and its values have incompatible types"),
    driver.ClientError: (Broken, "the graph database refuses a statement"),
    driver.DatabaseError: (Broken, "the graph database failed: see its log"),
    driver.Neo4jError: (Broken, "the graph database failed in an unknown way"),
    # Raised on the way to the server.
    driver.ServiceUnavailable: (Retryable, f"the graph database does not answer; {_AGAIN}"),
    driver.RoutingServiceUnavailable: (Retryable, f"no router of the graph database answers; {_AGAIN}"),
    driver.WriteServiceUnavailable: (Retryable, f"no writer of the graph database answers; {_AGAIN}"),
    driver.ReadServiceUnavailable: (Retryable, f"no reader of the graph database answers; {_AGAIN}"),
    driver.SessionExpired: (Retryable, f"the connection to the graph database was lost; {_AGAIN}"),
    driver.IncompleteCommit: (Retryable, "the connection was lost on a commit, whose outcome is unknown"),
    # Raised for the configuration.
    driver.ConfigurationError: (Broken, "the settings of the graph database contradict each other"),
    driver.AuthConfigurationError: (Broken, "the credentials of the graph database cannot be used: check bolt_user"),
    driver.CertificateConfigurationError: (Broken, "the certificate cannot be used: check bolt_ca_file"),
    driver.UnsupportedServerProduct: (
        Broken,
        "the server is not a supported graph database: use Neo4j 5 or Memgraph",
    ),
    # Caused by a defect of Graphtide only.
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
"""All exceptions of the driver. OSError: errors of its sockets that it has not wrapped yet."""

_CLOSED = "the handler is closed"

_ENDED = ("LockClientStopped", "Terminated", "TransactionTimedOut", "TransactionTimedOutClientConfiguration")
"""The codes of a transaction that the server ended because of its duration, or a person: it may be repeated."""
_UNIQUE = "unique constraint violation"
_MESSAGE_CHARS = 300


def is_closed_transport(error: RuntimeError) -> bool:
    """Return whether uvloop reports a lost connection: it raises this where asyncio raises an OSError."""
    return _CLOSED in str(error)


def is_unresolved(error: ValueError) -> bool:
    """Return whether the driver could not resolve the server's name, which may be temporary: an OSError is
    its cause.
    """
    return isinstance(error.__cause__, OSError)


def failure(error: Exception) -> GraphtideError:
    """Return the error to raise from `error`: that of its most specific class in the table."""
    if isinstance(error, driver.ClientError) and _UNIQUE in str(error):  # Memgraph has no class of its own for it
        error_class: type[Exception] = driver.ConstraintError
    elif isinstance(error, driver.ClientError) and (error.code or "").rpartition(".")[2] in _ENDED:
        error_class = driver.TransientError
    else:
        error_class = next((class_ for class_ in type(error).__mro__ if class_ in TABLE), driver.ServiceUnavailable)
    kind, meaning = TABLE[error_class]
    return kind(f"{meaning} ({_message(error)})")


@contextmanager
def translate_errors() -> Iterator[None]:
    """Translate exceptions of the driver in the block into errors of Graphtide."""
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


def _message(error: Exception) -> str:
    """Return the driver's message, shortened: it may contain values of a document."""
    if isinstance(error, driver.Neo4jError):
        return f"{error.code or type(error).__name__}: {str(error.message or error)[:_MESSAGE_CHARS]}"
    return f"{type(error).__name__}: {str(error)[:_MESSAGE_CHARS]}"
