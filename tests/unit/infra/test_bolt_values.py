"""Serverless parts of the Bolt adapters: addresses, errors, storage modes, encoding of values."""

from __future__ import annotations

import inspect
import math
from random import Random

import numpy as np
import pytest
from neo4j import AsyncGraphDatabase
from neo4j import exceptions as driver

from graphtide.infra.bolt import BoltAddress
from graphtide.infra.bolt.administration.schema import prepare
from graphtide.infra.bolt.codec import digest_key, from_bytes, in_order, to_bytes, to_vector
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.database import BoltDatabase, Transaction, batched, check_storage_mode, driver_options
from graphtide.infra.bolt.errors import DRIVER_ERRORS, TABLE, failure
from graphtide.infra.bolt.graph_store.generations import _parts
from graphtide.infra.export.bolt_source import BoltSource
from graphtide.streams.errors import Broken, Retryable
from tests.model.memory.rows import Rows
from tests.support.records import Walk, plain

DRIVER_CLASSES = [
    one
    for name, one in vars(driver).items()
    if inspect.isclass(one) and issubclass(one, Exception) and not name.startswith("_")
]


@pytest.mark.parametrize("error_class", DRIVER_CLASSES, ids=lambda one: one.__name__)
def test_every_error_of_the_driver_is_in_the_table(error_class: type[Exception]) -> None:
    """The table names every class of the driver: a new version's new class needs a decision."""
    assert error_class in TABLE, f"add {error_class.__name__} to the table in infra/bolt/errors.py"
    assert issubclass(error_class, DRIVER_ERRORS)


def test_failure_takes_the_most_specific_class_and_says_what_the_driver_said() -> None:
    """An unlisted subclass counts as its parent; Memgraph's message for a violated constraint is recognised."""

    class Newer(driver.TokenExpired):
        pass

    for error, kind, words in (
        (driver.DatabaseUnavailable("down"), Retryable, "not available"),
        (driver.TransientError("deadlock"), Retryable, "deadlock"),
        (Newer("late"), Broken, "expired"),
        (driver.AuthError("no"), Broken, "bolt_password"),
        (driver.ClientError("Unable to commit due to unique constraint violation on :A(b)"), Retryable, "same time"),
        (driver.ClientError("something else"), Broken, "refuses"),
        (ConnectionResetError("reset"), Retryable, "does not answer"),
        (driver.IncompleteCommit("?"), Retryable, "unknown"),  # type: ignore[no-untyped-call]
    ):
        found = failure(error)
        assert type(found) is kind and words in str(found)
    assert len(str(failure(driver.ClientError("x" * 10_000)))) < 500


def test_schema_and_export_wait_for_a_name_that_nobody_resolves() -> None:
    """Blocking connections translate errors as the asynchronous ones do."""
    address = BoltAddress("bolt://graph-database.invalid:7687")
    with pytest.raises(Retryable, match="Cannot resolve"):
        prepare(address, Dialect.NEO4J)
    with pytest.raises(Retryable, match="Cannot resolve"):
        BoltSource(address, "g")


async def test_database_whose_name_nobody_resolves_is_one_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a cluster a server's name may be unresolvable for a time: connecting, writing and reading in a thread are
    Retryable.
    """
    monkeypatch.setattr("graphtide.infra.bolt.database.FIRST_WAIT_S", 0.0)
    address = BoltAddress("bolt://graph-database.invalid:7687")
    with pytest.raises(Retryable, match="Cannot resolve"):
        await BoltDatabase.connect(address)
    database = BoltDatabase(AsyncGraphDatabase.driver(address.uri), address, Dialect.NEO4J)

    async def nothing(_: Transaction) -> None:
        return None

    try:
        with pytest.raises(Retryable, match="Cannot resolve"):
            await database.write(nothing)
        with pytest.raises(Retryable, match="Cannot resolve"):
            await database.read_in_thread(lambda _: None)
    finally:
        await database.close()


@pytest.mark.parametrize(
    "uri", ["", "localhost:7687", "http://localhost", "bolt://", "bolt://host:0", "bolt://host:x", "bolt://u:secret@h"]
)
def test_address_refuses_what_is_none_and_shows_no_password(uri: str) -> None:
    """The message says what would be right, and leaves out everything before an @."""
    with pytest.raises(Broken) as refused:
        BoltAddress(uri)
    assert "secret" not in str(refused.value)


def test_address_hides_its_password_and_turns_a_certificate_into_tls(tmp_path: object) -> None:
    """No repr contains the password; a custom certificate removes the TLS suffix of the scheme."""
    address = BoltAddress("bolt+s://db:7687", "ada", "secret", ca_file="ca.pem")
    assert "secret" not in repr(address) and "ada" in repr(address)
    options = driver_options(address)
    assert options["uri"] == "bolt://db:7687" and options["encrypted"] is True
    assert driver_options(BoltAddress("bolt://db"))["auth"] is None


def test_storage_mode_without_transactions_is_refused() -> None:
    """Memgraph's storage mode is found among its other properties; the message names the remedy."""
    rows: list[dict[str, object]] = [
        {"storage info": "vertex_count", "value": 3},
        {"storage info": "storage_mode", "value": "X"},
    ]
    for mode in ("IN_MEMORY_TRANSACTIONAL", "ON_DISK_TRANSACTIONAL"):
        check_storage_mode([rows[0], {**rows[1], "value": mode}])
    with pytest.raises(Broken, match="STORAGE MODE IN_MEMORY_TRANSACTIONAL"):
        check_storage_mode([rows[0], {**rows[1], "value": "IN_MEMORY_ANALYTICAL"}])


def test_bytes_and_vectors_come_back_bit_by_bit() -> None:
    """Every float16, infinities and all kinds of NaN included, and empty bytes are encoded without loss."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    assert to_vector(from_bytes(every.tobytes())).tobytes() == every.tobytes()
    assert to_bytes(from_bytes(b"")) == b"" and to_vector("").shape == (0,)


def test_numbers_in_order_sort_as_numbers_do() -> None:
    """Numbers as text have the order of the numbers, over all non-negative int64."""
    rng = Random(4)
    pairs = [(rng.getrandbits(rng.randint(1, 63)), rng.getrandbits(rng.randint(1, 63))) for _ in range(500)]
    assert sorted(in_order(*pair) for pair in pairs) == [in_order(*pair) for pair in sorted(pairs)]


def test_digest_keys_differ_when_the_parts_do() -> None:
    """Digest keys of different parts differ, even if their concatenations are equal; and their length is constant."""
    assert digest_key("g", "ab", "c") != digest_key("g", "a", "bc") != digest_key("h", "a", "bc")
    assert len(digest_key("g", "x" * 100_000, "\ud800")) < 100


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_parts_of_a_snapshot_fold_to_it(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the portions, a chunk's mentions stay together, and all portions together equal the input."""
    monkeypatch.setattr("graphtide.infra.bolt.graph_store.generations.BUILD_ROWS", size)
    rng = Random(size)
    walk, fold, again = Walk(rng), Rows("g"), Rows("g")
    for _ in range(30):
        fold.apply(walk.delta())
    snapshot = fold.snapshot()
    parts = list(_parts(snapshot))
    for part in parts:
        again.apply(part)
    got, want = plain(again.snapshot()), plain(snapshot)
    stamped = {
        name: plain(getattr(again.snapshot(), name)) for name in ("labels", "mentions", "evidence", "edges", "same_as")
    }
    assert stamped == {name: plain(getattr(snapshot, name)) for name in stamped}
    assert len(got) == len(want) and [len(rows) for rows in got[4:13]] == [len(rows) for rows in want[4:13]]
    rows = sum(len(getattr(snapshot, name)) for name in ("chunks", "documents", "entities", "labels", "statements"))
    assert len(parts) >= math.ceil(rows / size)


def test_portions_cut_without_loss() -> None:
    """Batches keep the order, and none is empty or too large."""
    assert [list(one) for one in batched(range(7), 3)] == [[0, 1, 2], [3, 4, 5], [6]] and batched([], 3) == []
