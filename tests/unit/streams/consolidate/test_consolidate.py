"""The consolidate stage: the graph is that of the newest revisions, and a bad record becomes one dead letter."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, GraphDelta
from graphtide.streams.consolidate.stage import STAGE
from graphtide.streams.messages import DEAD_LETTERS, EXTRACTIONS, DeadLetter, ExtractionMessage
from graphtide.streams.ports import Record, RevisionState
from tests.support.consolidate_harness import ConsolidateHarness, live, message
from tests.support.stages import dead_letters, records


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
async def test_consolidate_gives_the_graph_of_the_newest_revisions_when_records_repeat_and_reorder(
    harness: ConsolidateHarness, seed: int
) -> None:
    """Edits and deletions of six documents in two graphs, each thrice, in any order, over several lives."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    names = [(rng.choice("gh"), rng.choice("abc")) for _ in range(24)]
    revisions = await harness.accept(*(f"{graph}|{doc_id}" for graph, doc_id in names))
    messages = [
        message(rng, doc_id, revision, graph)
        if rng.random() < 0.75
        else ExtractionMessage(graph, doc_id, revision, None)
        for revision, (graph, doc_id) in zip(revisions, names, strict=True)
    ]
    order = messages * 3
    rng.shuffle(order)
    versions = []
    while order:
        part, order = order[:20], order[20:]
        await harness.emit(*part)
        await harness.work(batch_size=rng.choice((1, 3, 64)))
        versions.append(sum((await harness.backend.store.graphs()).values()))
    assert {graph for graph, took in harness.seen.kernel_work if took.community_units} == {"g", "h"}
    for graph in "gh":
        await harness.check(live([one for one in messages if one.graph == graph]), graph)
        assert await harness.backend.ledger.pending(graph) == 0
        assert (await harness.backend.ledger.counts(graph))[RevisionState.FAILED] == 0
    assert versions == sorted(versions) and not await records(harness.backend, DEAD_LETTERS)


async def test_consolidate_supersedes_a_stale_revision_that_comes_late(harness: ConsolidateHarness) -> None:
    """Revision 1 is applied first, revision 0 arrives after it: superseded, and the graph does not change."""
    rng = random.Random(1)
    await harness.accept("g|a", "g|a")
    new = message(rng, "a", 1)
    for one in (new, message(rng, "a", 0)):
        await harness.emit(one)
        await harness.work()
    counts = await harness.backend.ledger.counts("g")
    assert (counts[RevisionState.APPLIED], counts[RevisionState.SUPERSEDED]) == (1, 1)
    assert (await harness.backend.store.graphs())["g"] == 1
    await harness.check(live([new]))


async def test_consolidate_does_not_bring_back_what_was_deleted_when_everything_is_replayed(
    harness: ConsolidateHarness,
) -> None:
    """Publish, delete, and all records again: nothing is live, and the replay makes no version."""
    rng = random.Random(2)
    await harness.accept("g|a", "g|a", "g|b")
    messages = [message(rng, "a", 0), ExtractionMessage("g", "a", 1, None), message(rng, "b", 2)]
    await harness.emit(*messages)
    await harness.work(batch_size=1)
    version = (await harness.backend.store.graphs())["g"]
    await harness.emit(*messages, *messages)
    await harness.work()
    assert (await harness.backend.store.graphs())["g"] == version == 3
    await harness.check(live(messages))


POISON = {
    "bytes": b"\xff\x00",
    "an empty value": b"",
    "a list": b"[]",
    "no vectors": b'{"graph":"g","doc_id":"a","revision":0,"info":{},"units":[["00","t",0,1,[],[]]],"gaps":[],'
    b'"dimensions":4,"vectors":""}',
    "a path for a graph": b'{"graph":"../..","doc_id":"a","revision":0,"deleted":true}',
}


@pytest.mark.parametrize("value", POISON.values(), ids=POISON)
async def test_consolidate_writes_one_dead_letter_for_a_poison_record_and_goes_on(
    harness: ConsolidateHarness, value: bytes
) -> None:
    """One dead letter with the original bytes; the records around it are applied."""
    rng = random.Random(3)
    await harness.accept("g|x", "g|y", "g|z")
    good = [message(rng, "y", 1), message(rng, "z", 2)]
    await harness.emit(good[0])
    await harness.backend.log.append(EXTRACTIONS, [Record("g", value)])
    await harness.emit(good[1])
    await harness.work()
    [letter] = await dead_letters(harness.backend)
    assert letter.original == value and letter.stage == STAGE
    await harness.check(live(good))


async def test_consolidate_ends_the_revision_of_a_record_it_cannot_read_when_its_name_can_be(
    harness: ConsolidateHarness,
) -> None:
    """A record of another schema still names its revision: FAILED in the ledger, with the reason."""
    await harness.accept("g|a")
    await harness.backend.log.append(EXTRACTIONS, [Record("g", b'{"schema":7,"graph":"g","doc_id":"a","revision":0}')])
    await harness.work()
    entry = await harness.backend.ledger.latest("g", "a")
    assert entry is not None and entry.state is RevisionState.FAILED and "schema 7" in entry.reason
    [letter] = await dead_letters(harness.backend)
    assert (letter.graph, letter.doc_id, letter.revision) == ("g", "a", 0)


async def test_consolidate_writes_a_dead_letter_for_the_change_that_breaks_the_write_model_and_applies_the_others(
    harness: ConsolidateHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch of six over two graphs with one culprit: five are applied, the culprit is FAILED with the cause."""
    apply = Consolidator.apply

    def failing(self: Consolidator, changes: Sequence[DocumentChange]) -> GraphDelta:
        delta = apply(self, changes)  # partially applied: the write model must not be used again
        if any(change.doc_id == "culprit" for change in changes):
            raise ZeroDivisionError("a bug in the core")
        return delta

    monkeypatch.setattr(Consolidator, "apply", failing)
    rng = random.Random(4)
    names = [("g", "a"), ("g", "culprit"), ("h", "b"), ("g", "c"), ("h", "d"), ("g", "a")]
    await harness.accept(*(f"{graph}|{doc_id}" for graph, doc_id in names))
    messages = [message(rng, doc_id, revision, graph) for revision, (graph, doc_id) in enumerate(names)]
    await harness.emit(*messages)
    await harness.work()
    for graph in "gh":
        await harness.check(live([one for one in messages if one.graph == graph and one.doc_id != "culprit"]), graph)
        assert await harness.backend.ledger.pending(graph) == 0
    entry = await harness.backend.ledger.latest("g", "culprit")
    assert (
        entry is not None
        and entry.state is RevisionState.FAILED
        and "ZeroDivisionError: a bug in the core" in entry.reason
    )
    [letter] = await dead_letters(harness.backend)
    assert letter.doc_id == "culprit" and ("g", RevisionState.FAILED) in harness.seen.ends


async def test_consolidate_writes_a_dead_letter_for_vectors_of_another_dimension(harness: ConsolidateHarness) -> None:
    """They fit neither the graph's sums nor its index: FAILED, and the graph stays as it is."""
    rng = random.Random(5)
    await harness.accept("g|a", "g|b")
    good = message(rng, "a", 0)
    other = message(rng, "b", 1)
    assert other.extraction is not None
    one = other.extraction.units[0]
    short = replace(one, vector=np.ones(3, np.float16), mentions=(), facts=())
    await harness.emit(good)
    await harness.work()
    await harness.emit(replace(other, extraction=replace(other.extraction, units=(short,))))
    await harness.work()
    entry = await harness.backend.ledger.latest("g", "b")
    assert entry is not None and entry.state is RevisionState.FAILED and "two embedding models" in entry.reason
    await harness.check(live([good]))


async def test_consolidate_takes_another_dimension_when_the_graph_is_empty_again(harness: ConsolidateHarness) -> None:
    """Everything was deleted: the next document may come from another model."""
    rng = random.Random(6)
    await harness.accept("g|a", "g|a", "g|b")
    other = message(rng, "b", 2)
    assert other.extraction is not None
    short = replace(other.extraction.units[0], vector=np.ones(3, np.float16), mentions=(), facts=())
    changed = replace(other, extraction=replace(other.extraction, units=(short,)))
    for one in (message(rng, "a", 0), ExtractionMessage("g", "a", 1, None), changed):
        await harness.emit(one)
        await harness.work()
    await harness.check(live([changed]))


async def test_consolidate_writes_one_dead_letter_when_it_died_after_the_first(harness: ConsolidateHarness) -> None:
    """The letter was written and the position had not advanced: the same record again gives no second letter."""
    await harness.backend.log.append(EXTRACTIONS, [Record("g", b"poison")])
    letter = DeadLetter("g", "?", 0, STAGE, "as it was", 1, b"poison")
    await harness.backend.log.append(DEAD_LETTERS, [Record("g|?", letter.encode())])
    await harness.work()
    assert len(await dead_letters(harness.backend)) == 1
