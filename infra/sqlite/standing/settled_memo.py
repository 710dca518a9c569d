"""The stored state of questions in memory: a commit may evaluate hundreds of them, and reading them takes longer.

Each write to the questions of a graph gives the graph a stamp that no other write has, in the transaction of the write.
Invariant: while the stored stamp is the one that was noted here, what is held equals what is stored. A transaction that
was rolled back, and a write of another process or store, leave another stamp.
"""

from __future__ import annotations

import itertools
import secrets
import sqlite3

from graphtide.streams.standing.settling import SettledEvidence
from graphtide.streams.standing.store import MAX_QUESTIONS

MAX_ROWS, GRAPHS = 2 * MAX_QUESTIONS, 1_000
"""Maximum number of questions that are held, of all graphs, and of these graphs: beyond, all are read again."""
_COUNTER_BITS = 32


class SettledMemo:
    """States by graph and question. Belongs to the writer's thread of the database."""

    def __init__(self) -> None:
        self._stamps = itertools.count(secrets.randbits(62 - _COUNTER_BITS) << _COUNTER_BITS)
        self._settled: dict[int, tuple[int, dict[str, SettledEvidence]]] = {}

    def open(self, connection: sqlite3.Connection, graph: int) -> dict[str, SettledEvidence]:
        """Return the states that are held of a graph, for a write to its questions: the caller keeps them current.

        Call it in the transaction of the write, before the write.
        """
        if len(self._settled) > GRAPHS or sum(len(settled) for _, settled in self._settled.values()) > MAX_ROWS:
            self._settled.clear()
        row = connection.execute("SELECT stamp FROM question_stamps WHERE graph = ?", (graph,)).fetchone()
        noted, settled = self._settled.get(graph, (None, {}))
        if row is None or row[0] != noted:
            settled = {}
        stamp = next(self._stamps)
        self._settled[graph] = stamp, settled
        connection.execute("INSERT OR REPLACE INTO question_stamps (graph, stamp) VALUES (?, ?)", (graph, stamp))
        return settled
