"""The GraphStore port, on every adapter: atomic commits, one writer, and snapshots equal to the fold of deltas."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from graphtide.graph import communities
from graphtide.graph.communities import Hierarchy
from graphtide.graph.records import DocumentInfo, DocumentRow, EdgeRow, GraphDelta, Removals
from graphtide.graph.reports.entity_summaries import ENTITY, storage_id
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.graph.resolution.predicates.pairs import pair_of
from graphtide.infra.sqlite import SqliteBackend
from graphtide.streams.errors import Broken, Fenced, Rejected
from graphtide.streams.messages import DELTAS
from graphtide.streams.ports import (
    Commit,
    GraphCommit,
    Record,
    ReportFinding,
    ReportRow,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
    Watermark,
)
from tests.model.memory import MemoryBackend
from tests.model.memory.rows import Rows
from tests.support.backends import WITH_SERVERS, Backend, Clock, accepted, opened_for
from tests.support.records import Walk, plain


@pytest.fixture(params=WITH_SERVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, Clock()) as one:
        yield one


def empty(graph: str, version: int) -> GraphCommit:
    return GraphCommit(GraphDelta(graph, version), {})


async def extractions(backend: Backend, graph: str) -> list[tuple[str, bytes]]:
    return [pair async for pair in backend.store.extractions(graph)]


async def test_store_raises_the_epoch_when_claimed(backend: Backend) -> None:
    """Each claim gets a higher epoch and the offset at which the last writer ended; partitions do not mix."""
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 5, (), ()))
    again = await backend.store.claim(0)
    assert again.epoch > watermark.epoch > 0 and again.next_offset == 5
    assert (await backend.store.claim(1)).next_offset == 0


async def test_store_fences_a_writer_that_does_not_hold_the_watermark(backend: Backend) -> None:
    """A lost claim, a repeated commit and a partition without a claim change nothing at all."""
    [revision] = await accepted(backend, [Record("g|a", b"")])
    with pytest.raises(Fenced):
        await backend.store.commit(Commit(0, Watermark(0, 0), 1, (empty("g", 1),), ()))
    zombie = await backend.store.claim(0)
    watermark = await backend.store.claim(0)
    outcomes = (RevisionOutcome("g", "a", revision, RevisionState.APPLIED),)
    lost = Commit(0, zombie, 1, (GraphCommit(Walk(Random(1)).delta(), {"a": StoredDocument(0, b"")}),), outcomes)
    notices = (Record("g", b"n"),)
    with pytest.raises(Fenced):
        await backend.store.commit(replace(lost, notices=notices))
    assert await backend.store.graphs() == {} and await backend.log.end(DELTAS) == {0: 0}
    assert await backend.store.standings("g", ["a"]) == {} and await backend.ledger.pending("g") == 1
    await backend.store.commit(replace(lost, expected=watermark, notices=notices))
    with pytest.raises(Fenced):
        await backend.store.commit(replace(lost, expected=watermark, notices=notices))
    assert await backend.store.graphs() == {"g": 1} and await backend.log.end(DELTAS) == {0: 1}
    await backend.store.commit(Commit(0, Watermark(watermark.epoch, 1), 2, (empty("g", 2),), ()))


async def test_store_commits_rows_standings_outcomes_and_notices_together(backend: Backend) -> None:
    """After a commit all four are stored, and the next writer starts after it."""
    first, second = await accepted(backend, [Record("g|a", b""), Record("h|b", b"")])
    watermark = await backend.store.claim(0)
    parts = (
        GraphCommit(
            GraphDelta("g", 1, documents=(DocumentRow("a", 0, DocumentInfo(), ()),)), {"a": StoredDocument(0, b"x")}
        ),
        GraphCommit(GraphDelta("h", 1), {"b": StoredDocument(1, None)}),
    )
    ends = (
        RevisionOutcome("g", "a", first, RevisionState.APPLIED),
        RevisionOutcome("h", "b", second, RevisionState.DELETED),
    )
    notices = (Record("g", b"1"), Record("h", b"1"))
    await backend.store.commit(Commit(0, watermark, 2, parts, ends, notices))
    assert await backend.store.graphs() == {"g": 1, "h": 1}
    assert [row.doc_id for row in (await backend.store.snapshot("g")).documents] == ["a"]
    assert await backend.store.standings("g", ["z", "a"]) == {"a": StoredDocument(0, b"x")}
    assert await backend.store.standings("g", ["z", "a"], vectors=False) == {"a": StoredDocument(0, b"x")}
    assert await backend.store.standings("h", ["b"]) == {"b": StoredDocument(1, None)}
    assert await backend.ledger.pending("g") == await backend.ledger.pending("h") == 0
    assert [one.record for one in await backend.log.consumer(DELTAS, "x").poll(9, 0)] == list(notices)
    assert (await backend.store.claim(0)).next_offset == 2


async def test_store_changes_nothing_when_a_part_of_the_commit_is_wrong(backend: Backend) -> None:
    """A gap in the versions, a rebuilt graph at another version, an invalid end, and more leave no change at all."""
    [revision] = await accepted(backend, [Record("g|a", b"")])
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 3, (empty("g", 1),), ()))
    watermark = Watermark(watermark.epoch, 3)
    good = Commit(
        0,
        watermark,
        4,
        (GraphCommit(GraphDelta("g", 2), {"a": StoredDocument(0, b"x")}),),
        (RevisionOutcome("g", "a", revision, RevisionState.APPLIED),),
        (Record("g", b"n"),),
    )
    wrong: list[tuple[type[Exception], Commit]] = [
        (Broken, replace(good, graphs=(*good.graphs, empty("h", 2)))),
        (Broken, replace(good, graphs=(*good.graphs, empty("g", 2)))),
        (Broken, replace(good, graphs=(GraphCommit(GraphDelta("g", 3, snapshot=True), {}),))),
        (Broken, replace(good, outcomes=(RevisionOutcome("g", "a", revision, RevisionState.ACCEPTED),))),
        (Broken, replace(good, next_offset=2)),
        (Rejected, replace(good, notices=(*good.notices, Record("\ud800", b"")))),
    ]
    for error, commit in wrong:
        with pytest.raises(error):
            await backend.store.commit(commit)
        assert await backend.store.graphs() == {"g": 1} and await backend.store.standings("g", ["a"]) == {}
        assert await backend.ledger.pending("g") == 1 and await backend.log.end(DELTAS) == {0: 0}
    await backend.store.commit(replace(good, graphs=(*good.graphs, empty("g", 3), empty("h", 1))))
    assert await backend.store.graphs() == {"g": 3, "h": 1}


async def test_store_binds_a_graph_to_the_partition_of_its_first_commit(backend: Backend) -> None:
    """The writer of another partition is refused, whatever it commits; the graph's own writer continues."""
    if not isinstance(backend, SqliteBackend):
        assert await backend.store.bindings(["g"]) == {}
        watermark, other = await backend.store.claim(2), await backend.store.claim(1)
        await backend.store.commit(Commit(2, watermark, 1, (empty("g", 1),), ()))
        for delta in (GraphDelta("g", 2), GraphDelta("g", 2, snapshot=True), GraphDelta("g", 1)):
            with pytest.raises(Fenced):
                await backend.store.commit(Commit(1, other, 1, (GraphCommit(delta, {}),), ()))
        await backend.store.commit(Commit(2, Watermark(watermark.epoch, 1), 2, (empty("g", 2),), ()))
        assert await backend.store.graphs() == {"g": 2}
        assert await backend.store.bindings(["g", "h"]) == {"g": 2}
    watermark = await backend.store.claim(0)
    await backend.store.commit(Commit(0, watermark, 1, (empty("k", 1),), ()))
    assert await backend.store.bindings(["h", "k"]) == {"k": 0}


async def test_store_takes_back_standings_that_a_later_document_left(backend: Backend) -> None:
    """Only live documents are extractions, by id and over many pages; a deleted one keeps its status."""
    watermark = await backend.store.claim(0)
    standings = {f"d{i:03d}": StoredDocument(i, None if i % 5 == 0 else b"%d" % i) for i in range(200)}
    await backend.store.commit(Commit(0, watermark, 1, (GraphCommit(GraphDelta("g", 1), standings),), ()))
    update = {"d000": StoredDocument(200, b"back"), "d001": StoredDocument(201, None)}
    watermark = Watermark(watermark.epoch, 1)
    await backend.store.commit(Commit(0, watermark, 2, (GraphCommit(GraphDelta("g", 2), update),), ()))
    standings |= update
    expected = [(doc_id, one.extraction) for doc_id, one in sorted(standings.items()) if one.extraction is not None]
    assert await extractions(backend, "g") == expected
    assert await backend.store.standings("g", list(standings)) == standings
    assert await extractions(backend, "unknown") == []


async def test_store_returns_each_verdict_as_the_last_commit_gave_it(backend: Backend) -> None:
    """A verdict is one integer of up to 62 bits; a later one on the same pair replaces it."""
    watermark = await backend.store.claim(0)
    pairs = [(("automobile", ""), (name, "vehicle")) for name in ("car", "cart", "motor")]
    given: dict[PairKey, Verdict] = dict(zip(pairs, (False, True, (1 << 62) - 1), strict=True))
    await backend.store.commit(Commit(0, watermark, 1, (GraphCommit(GraphDelta("g", 1), {}, given),), ()))
    assert await backend.store.verdicts("g") == given
    later = {pairs[0]: (1 << 61) + 5, pairs[2]: 0}
    watermark = Watermark(watermark.epoch, 1)
    await backend.store.commit(Commit(0, watermark, 2, (GraphCommit(GraphDelta("g", 2), {}, later),), ()))
    assert await backend.store.verdicts("g") == given | later


async def test_links_between_predicates_are_those_that_the_last_commit_left(backend: Backend) -> None:
    """A link ends and begins again with its verdict kept; a rebuilt graph has exactly the links of its rows."""
    pairs = [("closed", "ended"), ("established", "founded"), ("lives in", "resides in")]
    given: dict[PairKey, Verdict] = {pair_of(*pair): (1 << 61) + 7 for pair in pairs}
    deltas = [
        (GraphDelta("g", 1, predicate_links=tuple(pairs)), given, pairs),
        (GraphDelta("g", 2, Removals(predicate_links=(pairs[0], pairs[1]))), {}, pairs[2:]),
        (GraphDelta("g", 3, predicate_links=(pairs[0],)), {}, [pairs[0], pairs[2]]),
        (GraphDelta("g", 4, Removals(predicate_links=(pairs[2],))), {pair_of(*pairs[2]): 4}, [pairs[0]]),
    ]
    watermark = await backend.store.claim(0)
    for number, (delta, verdicts, expected) in enumerate(deltas, 1):
        await backend.store.commit(Commit(0, watermark, number, (GraphCommit(delta, {}, verdicts),), ()))
        watermark = Watermark(watermark.epoch, number)
        assert (await backend.store.snapshot("g")).predicate_links == tuple(expected)
    assert await backend.store.verdicts("g") == given | {pair_of(*pairs[2]): 4}
    await backend.store.replace(GraphDelta("g", 5, snapshot=True, predicate_links=(pairs[1],)))
    assert (await backend.store.snapshot("g")).predicate_links == (pairs[1],)
    assert await backend.store.verdicts("g") == given | {pair_of(*pairs[2]): 4}


async def test_snapshot_of_an_unknown_graph_is_empty(backend: Backend) -> None:
    """It has version 0 and no rows, even when the ledger alone knows the graph."""
    await backend.ledger.accept([Record("g|a", b"")])
    for graph in ("g", "h"):
        assert plain(await backend.store.snapshot(graph)) == plain(GraphDelta(graph, 0, snapshot=True))
    assert await backend.store.graphs() == {}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
async def test_snapshot_is_the_fold_of_the_deltas(backend: Backend, seed: int) -> None:
    """Random commits to two graphs, with rows reused, replaced and removed, fold to the snapshot bit by bit."""
    print(f"seed {seed}")
    rng = Random(seed)
    walks, folds = {g: Walk(rng, g) for g in "gh"}, {g: Rows(g) for g in "gh"}
    watermark = await backend.store.claim(0)
    for step in range(25):
        parts = tuple(walks[graph].commit(step) for graph in sorted(rng.sample("gh", rng.randint(1, 2))))
        await backend.store.commit(Commit(0, watermark, step + 1, parts, ()))
        watermark = Watermark(watermark.epoch, step + 1)
        for part in parts:
            folds[part.delta.graph].apply(part.delta)
        if step % 6 == 5:
            for graph, fold in folds.items():
                assert plain(await backend.store.snapshot(graph)) == plain(fold.snapshot())
    again = Rows("g")
    again.apply(await backend.store.snapshot("g"))
    assert plain(again.snapshot()) == plain(folds["g"].snapshot())


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in WITH_SERVERS if name != "memory"])
async def test_stores_agree_when_commits_are_random(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """The adapter and the reference, given the same commits, hold equal content."""
    seed = 77
    print(f"seed {seed}")
    rng = Random(seed)
    walk = Walk(rng)
    reference = MemoryBackend(clock_ms=Clock())
    async with opened_for(request, name, tmp_path, Clock()) as adapter:
        both: tuple[Backend, ...] = (reference, adapter)
        watermark, _ = [await one.store.claim(0) for one in both]
        for step in range(40):
            part, doc_id, end = walk.commit(step), f"d{step % 10}", rng.choice(list(RevisionState)[1:])
            for one in both:
                [revision] = await accepted(one, [Record(f"g|{doc_id}", b"")])
                outcome = RevisionOutcome("g", doc_id, revision, end)
                await one.store.commit(
                    Commit(0, watermark, step + 1, (part,), (outcome,), (Record("g", b"%d" % step),))
                )
            watermark = Watermark(watermark.epoch, step + 1)
        snapshots = [plain(await one.store.snapshot("g")) for one in both]
        assert snapshots[0] == snapshots[1]
        ids = [f"d{i}" for i in range(10)]
        assert await reference.store.standings("g", ids) == await adapter.store.standings("g", ids)
        assert await extractions(reference, "g") == await extractions(adapter, "g")
        assert await reference.ledger.counts("g") == await adapter.ledger.counts("g")
        for doc_id in ids:
            ours, theirs = [await one.ledger.latest("g", doc_id) for one in both]
            assert ours is not None and theirs is not None
            assert replace(ours, revision=0) == replace(theirs, revision=0)


@pytest.mark.thorough
async def test_replace_swaps_the_rows_and_keeps_the_standings(backend: Backend) -> None:
    """The rebuilt rows have the version of the commit; the other graph and the document statuses stay."""
    rng = Random(5)
    walks = {graph: Walk(rng, graph) for graph in "gh"}
    watermark = await backend.store.claim(0)
    for step in range(8):
        parts = tuple(walk.commit(step) for walk in walks.values())
        await backend.store.commit(Commit(0, watermark, step + 1, parts, ()))
        watermark = Watermark(watermark.epoch, step + 1)
    standings = await backend.store.standings("g", [f"d{i}" for i in range(10)])
    other = plain(await backend.store.snapshot("h"))
    fresh, fold = Walk(rng, "g"), Rows("g")
    for _ in range(6):
        fold.apply(fresh.delta())
    rebuilt = replace(fold.snapshot(), version=9)
    await backend.store.replace(rebuilt)
    expected = Rows("g")
    expected.apply(replace(rebuilt, snapshot=False))
    assert plain(await backend.store.snapshot("g")) == plain(expected.snapshot())
    assert {row.version for row in (await backend.store.snapshot("g")).entities} == {9}
    assert await backend.store.standings("g", [f"d{i}" for i in range(10)]) == standings
    assert plain(await backend.store.snapshot("h")) == other
    for wrong in (replace(rebuilt, version=8), replace(rebuilt, version=10, snapshot=False)):
        with pytest.raises(Broken):
            await backend.store.replace(wrong)
    await backend.store.commit(Commit(0, watermark, 9, (empty("g", 10),), ()))


@pytest.mark.thorough
async def test_commit_of_a_snapshot_puts_a_rebuilt_graph_in_the_place_of_the_one_that_stands(backend: Backend) -> None:
    """It is the next version, and fenced as any commit is; statuses and other graphs stay, reports are deleted."""
    rng = Random(6)
    walks = {graph: Walk(rng, graph) for graph in "gh"}
    watermark = await backend.store.claim(0)
    for step in range(8):
        parts = tuple(walk.commit(step) for walk in walks.values())
        await backend.store.commit(Commit(0, watermark, step + 1, parts, ()))
        watermark = Watermark(watermark.epoch, step + 1)
    standings = await backend.store.standings("g", [f"d{i}" for i in range(10)])
    other = plain(await backend.store.snapshot("h"))
    for graph in "gh":
        await backend.store.save_reports(graph, [ReportRow(1, 0, "f", 1, "t", "s", ())], ())
    fresh, fold = Walk(rng, "g"), Rows("g")
    for _ in range(6):
        fold.apply(fresh.delta())
    rebuilt = replace(fold.snapshot(), version=9)
    commit = Commit(0, watermark, 9, (GraphCommit(rebuilt, {}),), (), (Record("g", b"n"),))
    with pytest.raises(Fenced):
        await backend.store.commit(replace(commit, expected=Watermark(watermark.epoch, 7)))
    await backend.store.commit(commit)
    expected = Rows("g")
    expected.apply(replace(rebuilt, snapshot=False))
    assert plain(await backend.store.snapshot("g")) == plain(expected.snapshot())
    assert await backend.store.standings("g", [f"d{i}" for i in range(10)]) == standings
    assert plain(await backend.store.snapshot("h")) == other
    assert not await backend.store.reports("g") and await backend.store.reports("h")


async def test_communities_go_on_from_a_snapshot(backend: Backend) -> None:
    """A hierarchy stored change by change is accepted by `build` and behaves as the writer's."""
    seed = 3
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    live = communities.build(np.empty((0, 2), np.int32), np.empty(0, np.int64))
    watermark = await backend.store.claim(0)
    weights: dict[tuple[int, int], int] = {}
    for step in range(30):
        added = {(int(a), int(b)): 1 for a, b in np.sort(rng.integers(0, 60, (8, 2)), axis=1) if a != b}
        removed = {pair: -weights[pair] for pair in list(weights)[:3] if pair not in added} if step > 5 else {}
        changes = added | removed
        for pair, by in changes.items():
            weights[pair] = weights.get(pair, 0) + by
        rows = tuple(EdgeRow(*pair, weights[pair], 2) for pair in changes)
        weights = {pair: weight for pair, weight in weights.items() if weight}
        change = live.update(np.array(list(changes), np.int32), np.array(list(changes.values()), np.int64))
        delta = GraphDelta("g", step + 1, edges=rows, communities=change)
        await backend.store.commit(Commit(0, watermark, step + 1, (GraphCommit(delta, {}),), ()))
        watermark = Watermark(watermark.epoch, step + 1)
    snapshot = await backend.store.snapshot("g")
    tree, exact = snapshot.communities, live.hierarchy()
    assert isinstance(tree, Hierarchy) and tree.next_id <= exact.next_id
    assert plain(replace(tree, next_id=0)) == plain(replace(exact, next_id=0))
    edges = np.array([(row.u, row.v) for row in snapshot.edges], np.int32)
    restored = communities.build(edges, np.array([row.weight for row in snapshot.edges], np.int64), snapshot=tree)
    assert restored.modularity() == pytest.approx(live.modularity())


async def test_reports_are_kept_by_community(backend: Backend) -> None:
    """Saving again replaces, `gone` deletes, graphs do not mix; the number of an entity is a valid key, however low."""
    findings = (ReportFinding("Found \0", ("d#1",), ("r-1", "r-2")), ReportFinding("é", ("d#2",)))
    rows = [
        ReportRow(i, i % 2, f"f{i}", 3, "Title \0", "Summary é", ("d#1", "d#2"), findings, i / 4) for i in (2, 1, 7)
    ]
    await backend.store.save_reports("g", rows, [])
    await backend.store.save_reports("h", rows[:1], [])
    newer = replace(rows[0], fingerprint="new", sources=())
    await backend.store.save_reports("g", [newer], [1, 99])
    assert list(await backend.store.reports("g")) == [newer, rows[2]]
    assert list(await backend.store.reports("h")) == rows[:1]
    assert list(await backend.store.reports("i")) == []
    of_entity = replace(rows[0], community=storage_id("e-ffffffffffffffff"), level=ENTITY)
    await backend.store.save_reports("h", [of_entity], [])
    assert list(await backend.store.reports("h")) == [of_entity, rows[0]]
    await backend.store.save_reports("h", [], [of_entity.community])
    assert list(await backend.store.reports("h")) == rows[:1]
