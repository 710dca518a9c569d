"""Checks that every adapter of the Ledger and GraphStore ports makes before it writes."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.graph.records import GraphDelta
from graphtide.streams.errors import Broken, Fenced, GraphStopped
from graphtide.streams.ports import Commit, Position, RevisionOutcome, RevisionState, Watermark


def other_history(position: Position, key: str, known: str) -> Broken:
    """Return the error for a position that the ledger has for another document."""
    return Broken(
        f"documents holds {key[:80]!r} at offset {position.offset} of partition {position.partition}, and the ledger"
        f" has {known[:80]!r} there: the log and the ledger have different histories; restore both from one backup"
    )


def check_ends(outcomes: Sequence[RevisionOutcome]) -> None:
    """Raise Broken when the state of an outcome is not final."""
    for outcome in outcomes:
        if outcome.state is RevisionState.ACCEPTED:
            raise Broken(
                f"{outcome.state.value!r} is not a final state (revision {outcome.revision} of {outcome.doc_id!r})"
            )


def check_watermark(commit: Commit, stored: Watermark) -> None:
    """Raise Fenced when the commit does not hold the stored watermark, Broken when it would lower it."""
    expected = commit.expected
    if expected != stored or not expected.epoch:
        raise Fenced(
            f"partition {commit.partition} is at epoch {stored.epoch}, offset {stored.next_offset}; "
            f"the writer held epoch {expected.epoch}, offset {expected.next_offset}"
        )
    if commit.next_offset < stored.next_offset:
        raise Broken(
            f"the commit would move partition {commit.partition} from offset {stored.next_offset} back to"
            f" {commit.next_offset}"
        )


def check_epoch(partition: int, expected: Watermark, stored: Watermark) -> None:
    """Raise Fenced when a writer that holds the watermark `expected` is not the partition's writer any more."""
    if expected != stored or not expected.epoch:
        raise Fenced(f"partition {partition} is at epoch {stored.epoch}; the writer held epoch {expected.epoch}")


def check_binding(commit: Commit, graph: str, bound: int | None) -> None:
    """Raise Fenced when the graph is bound to another partition, whose writer alone may write it."""
    if bound is not None and bound != commit.partition:
        raise Fenced(f"graph {graph!r} is bound to partition {bound}; partition {commit.partition} may not write it")


def check_next(delta: GraphDelta, version: int) -> None:
    """Raise GraphStopped when the delta, or the rebuilt graph, is not the next version."""
    if delta.version != version + 1:
        raise GraphStopped(
            f"graph {delta.graph!r} is at version {version}; a delta to {delta.version} cannot follow", delta.graph
        )


def check_replacement(snapshot: GraphDelta, version: int) -> None:
    """Raise Broken when it is not a snapshot, or its version is lower than the graph's."""
    if not snapshot.snapshot or snapshot.version < version:
        raise Broken(f"graph {snapshot.graph!r} is at version {version}; version {snapshot.version} cannot replace it")
