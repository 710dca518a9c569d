"""The index from revisions to commits: equal to a search of all commits, at a cost that does not grow with them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import pytest

from graphtide.infra.sqlite.changes import revision_index
from graphtide.streams.changes.change_log import included
from graphtide.streams.log.revisions import FIRST_NUMBER

SEED = 20_261_122
GRAPH = 7


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Give an empty database with the table."""
    with closing(sqlite3.connect(":memory:")) as opened:
        opened.execute(revision_index.SCHEMA)
        yield opened


def newest(commits: Sequence[Sequence[int]], until: dict[int, int], trimmed: int) -> int:
    """Return the result of a search of all commits, the first of which has version 1."""
    found = (number for number, commit in enumerate(commits, 1) if any(included(each, until) for each in commit))
    return max((number for number in found if number > trimmed), default=0)


def test_answers_are_those_of_a_search_of_all_commits(connection: sqlite3.Connection) -> None:
    """Revisions come late, commits are empty, partitions are mixed with offsets, and old entries are trimmed."""
    print("seed", SEED)
    rng, commits, trimmed = random.Random(SEED), list[list[int]](), 0
    for version in range(1, 120):
        late = max(0, version * 3 - rng.choice((1, 3, 3, 200)))
        numbers = [rng.choice((late, FIRST_NUMBER + (late << 12) + rng.randrange(3))) for _ in range(rng.randrange(4))]
        commits.append(numbers)
        revision_index.add(connection, GRAPH, version, numbers)
        if version > 60:
            trimmed = version - 60
            revision_index.trim(connection, GRAPH, trimmed)
        for _ in range(5):
            point = rng.randrange(version * 3 + 2)
            until = {0: point} if rng.random() < 0.5 else {p: FIRST_NUMBER + (point << 12) + p for p in range(3)}
            found = revision_index.find(connection, GRAPH, until)
            assert (found if found > trimmed else 0) == newest(commits, until, trimmed), (version, until)
    assert revision_index.find(connection, GRAPH + 1, {0: 1000}) == 0
    revision_index.clear(connection, GRAPH)
    assert connection.execute("SELECT count(*) FROM change_revisions").fetchone() == (0,)


def steps(connection: sqlite3.Connection, revision: int) -> int:
    """Return the steps of SQLite's machine that a look-up takes."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    connection.set_progress_handler(count, 1)
    revision_index.find(connection, GRAPH, {0: revision})
    connection.set_progress_handler(None, 1)
    return counted


def test_cost_of_a_look_up_does_not_grow_with_the_history(connection: sqlite3.Connection) -> None:
    """Old and new revisions cost the same in a history of 50 and of 5,000 commits."""
    figures = list[int]()
    for version in range(1, 5001):
        revision_index.add(connection, GRAPH, version, [2 * version])
        if version in {50, 5000}:
            figures += [steps(connection, revision) for revision in (4, version, 2 * version)]
    assert max(figures) <= min(figures) + 4, figures
