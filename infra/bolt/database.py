"""Connection pool of the graph database, and transactions with retries.

Work is a function of a transaction. It may run several times, so it has no effect outside it. A statement that needs no
other beside it is sent by itself (`ask`), which takes one round trip. Transient errors (conflicts, deadlocks, lost
connections) are retried a bounded number of times, with a growing and jittered wait. When the connection is lost on
COMMIT the outcome is unknown: idempotent work is repeated, and other work supplies a `settled` that determines the
outcome.

Invariant: only errors of `streams/errors.py` leave this module.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from neo4j import AsyncDriver, AsyncGraphDatabase, AsyncTransaction, Driver, GraphDatabase, TrustCustomCAs
from neo4j import Transaction as BlockingDriverTransaction

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.errors import DRIVER_ERRORS, failure, is_closed_transport, is_unresolved, translate_errors
from graphtide.streams.errors import Broken, Retryable

T = TypeVar("T")
Row = Mapping[str, Any]

ATTEMPTS = 6
FIRST_WAIT_S = 0.05
PORTION_ROWS = 500
"""Rows of one statement; with vectors of 384 dimensions about 0.5 MB."""
FETCH_ROWS = 2_000
POOL_SIZE = 32
MEMGRAPH = "Memgraph"

# A young Neo4j database sends a notification with each statement that names a property or label it has not seen yet.
logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)


class Transaction:
    """An open transaction, as work receives it. Not kept beyond the work."""

    def __init__(self, open_: AsyncTransaction) -> None:
        self._open = open_

    async def run(self, statement: str, **values: Any) -> list[Row]:
        """Return all rows of the statement."""
        result = await self._open.run(statement, values)
        return [dict(zip(record.keys(), record.values(), strict=True)) async for record in result]

    async def each(self, statement: str, rows: Sequence[Row], **values: Any) -> list[Row]:
        """Run the statement over all of $rows, a portion at a time."""
        found: list[Row] = []
        for portion in batched(rows):
            found += await self.run(statement, rows=portion, **values)
        return found

    async def each_key(self, statement: str, keys: Sequence[str]) -> list[Row]:
        """Run the statement over all of $keys, a portion at a time."""
        found: list[Row] = []
        for portion in batched(keys):
            found += await self.run(statement, keys=portion)
        return found


Work = Callable[[Transaction], Awaitable[T]]


class BlockingTransaction:
    """A blocking transaction for very many rows, in a thread: the asynchronous driver wakes the event loop thrice per
    row.
    """

    def __init__(self, open_: BlockingDriverTransaction) -> None:
        self._open = open_

    def run(self, statement: str, **values: Any) -> list[Row]:
        """Return all rows of the statement."""
        return [dict(zip(record.keys(), record.values(), strict=True)) for record in self._open.run(statement, values)]

    def stream(self, statement: str, **values: Any) -> Iterator[list[Any]]:
        """Yield the rows one by one, as values in the order of RETURN, while they arrive."""
        for record in self._open.run(statement, values):
            yield record.values()


class BoltDatabase:
    """The connection pool. Made by `connect`; ended by `close`."""

    def __init__(self, driver: AsyncDriver, address: BoltAddress, dialect: Dialect) -> None:
        self._driver = driver
        self._blocking: Driver | None = None
        self._database = address.database or None
        self.address = address
        self.dialect = dialect

    @classmethod
    async def connect(cls, address: BoltAddress) -> BoltDatabase:
        """Connect to the server within the address's timeout.

        Raises Broken for credentials or a certificate that are not accepted, Retryable when the server does not answer.
        """
        try:
            driver = AsyncGraphDatabase.driver(
                **driver_options(address),
                max_connection_pool_size=POOL_SIZE,
                connection_acquisition_timeout=6 * address.timeout_s,
                keep_alive=True,
            )
        except (*DRIVER_ERRORS, ValueError) as error:
            raise failure(error) from error
        try:
            async with asyncio.timeout(address.timeout_s):
                info = await driver.get_server_info()
        except TimeoutError as error:
            await driver.close()
            raise Retryable(
                f"{address.shown} did not answer within {address.timeout_s:g} s: is the graph database running, "
                "and is GRAPHTIDE_BOLT its address?"
            ) from error
        except (*DRIVER_ERRORS, ValueError) as error:
            await driver.close()
            if isinstance(error, ValueError) and not is_unresolved(error):
                raise
            problem = failure(error)
            raise type(problem)(f"{address.shown}: {problem}") from error
        except BaseException:  # also a cancellation, by a caller with a shorter timeout
            await driver.close()
            raise
        return cls(driver, address, Dialect.MEMGRAPH if MEMGRAPH in info.agent else Dialect.NEO4J)

    async def close(self) -> None:
        """Close all connections. Errors of broken connections are ignored."""
        try:
            await self._driver.close()
        except RuntimeError as error:
            if not is_closed_transport(error):
                raise
        except DRIVER_ERRORS as error:
            raise failure(error) from error
        finally:
            if self._blocking is not None:
                await asyncio.to_thread(self._blocking.close)

    async def write(self, work: Work[T], settled: Callable[[], Awaitable[T | None]] | None = None) -> T:
        """Run `work` in one transaction and commit; the module describes the retries.

        `settled` runs after a commit whose outcome is unknown: it returns the result of `work`, or None to run it
        again. Without it, `work` must be idempotent.
        """
        return await with_retries(lambda: self._attempt(work), settled)

    async def read(self, work: Work[T]) -> T:
        """Run `work` as `write` does: a read may take locks, and is retried in the same way."""
        return await self.write(work)

    async def ask(self, statement: str, **values: Any) -> list[Row]:
        """Return the rows of one statement that is a transaction by itself: one round trip instead of three.

        Retried as `write` is, even when its outcome is unknown: the statement must be idempotent.
        """
        return await with_retries(lambda: self._asked(statement, values))

    async def ask_each_key(self, statement: str, keys: Sequence[str]) -> list[Row]:
        """Run the statement over all of $keys, a portion at a time, each a transaction by itself."""
        found: list[Row] = []
        for portion in batched(keys):
            found += await self.ask(statement, keys=portion)
        return found

    async def _asked(self, statement: str, values: Mapping[str, Any]) -> list[Row]:
        with translate_errors():
            async with self._driver.session(database=self._database, fetch_size=FETCH_ROWS) as session:
                result = await session.run(statement, dict(values))
                return [dict(zip(record.keys(), record.values(), strict=True)) async for record in result]

    async def read_in_thread(self, work: Callable[[BlockingTransaction], T]) -> T:
        """Read very many rows in a thread, retried as `read` is. When cancelled, the thread reads to the end and is
        ignored.
        """
        if self._blocking is None:
            self._blocking = GraphDatabase.driver(**driver_options(self.address))
        driver = self._blocking
        return await with_retries(lambda: asyncio.to_thread(self._read, driver, work))

    def _read(self, driver: Driver, work: Callable[[BlockingTransaction], T]) -> T:
        with (
            translate_errors(),
            driver.session(database=self._database, fetch_size=FETCH_ROWS) as session,
            session.begin_transaction() as open_,
        ):
            return work(BlockingTransaction(open_))

    async def _attempt(self, work: Work[T]) -> T:
        committing = False
        try:
            with translate_errors():
                async with self._driver.session(database=self._database, fetch_size=FETCH_ROWS) as session:
                    open_ = await session.begin_transaction()
                    async with open_:
                        value = await work(Transaction(open_))
                        committing = True
                        await open_.commit()
                        committing = False
                    return value
        except Retryable as problem:
            if committing:
                raise _Unknown(problem) from problem
            raise


async def with_retries(
    attempt: Callable[[], Awaitable[T]], settled: Callable[[], Awaitable[T | None]] | None = None
) -> T:
    """Return the result of `attempt`, tried ATTEMPTS times while it is Retryable; `BoltDatabase.write` explains
    `settled`.
    """
    for number in range(ATTEMPTS):
        try:
            return await attempt()
        except _Unknown as unknown:
            problem: Retryable = unknown.problem
            value = await settled() if settled else None
            if value is not None:
                return value
        except Retryable as error:
            problem = error
        if number == ATTEMPTS - 1:
            raise problem
        await asyncio.sleep(FIRST_WAIT_S * 2**number * random.uniform(0.5, 1.5))
    raise AssertionError("a loop with a last attempt ends in it")


class _Unknown(Exception):  # noqa: N818 -- it never leaves this module
    """Loss of the connection during a commit."""

    def __init__(self, problem: Retryable) -> None:
        super().__init__(str(problem))
        self.problem = problem


def driver_options(address: BoltAddress) -> dict[str, Any]:
    """Return the options of both drivers, asynchronous and blocking. They contain the password: never log them."""
    options: dict[str, Any] = {
        "uri": address.uri,
        "auth": (address.user, address.password) if address.user else None,
        "connection_timeout": address.timeout_s,
        "user_agent": "graphtide",
    }
    if address.ca_file:  # the driver takes a custom certificate only with a scheme without TLS suffix
        scheme, _, rest = address.uri.partition("://")
        options["uri"] = f"{scheme.partition('+')[0]}://{rest}"
        options["encrypted"] = True
        options["trusted_certificates"] = TrustCustomCAs(address.ca_file)
    return options


Item = TypeVar("Item")


def undeleted(rows: Iterable[Row], columns: Sequence[str]) -> list[Row]:
    """Return the rows that have all of these columns, which no stored node lacks.

    Neo4j reads committed values one by one: the properties of a node that another transaction deletes meanwhile are
    null. Such a node is treated as absent, unless the reader holds a lock that excludes the deletion.
    """
    return [row for row in rows if all(row[column] is not None for column in columns)]


def batched(items: Sequence[Item], size: int = PORTION_ROWS) -> list[Sequence[Item]]:
    """Split the items, in order, into pieces of at most `size`."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def check_storage_mode(info: Sequence[Row]) -> None:
    """Refuse a Memgraph without transactions. `info` is the result of SHOW STORAGE INFO."""
    modes = [str(row["value"]) for row in info if row["storage info"] == "storage_mode"]
    if any("ANALYTICAL" in mode.upper() for mode in modes):
        raise Broken(
            f"Memgraph runs in storage mode {modes[0]}, without transactions, so that a crash could tear a commit: "
            "run STORAGE MODE IN_MEMORY_TRANSACTIONAL there, then start again"
        )
