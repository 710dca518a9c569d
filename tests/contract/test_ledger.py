"""The Ledger port, on every adapter: every accepted revision has one end, and the counts are right."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import pytest

from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import ConsumedRecord, LedgerEntry, Position, Record, RevisionOutcome, RevisionState
from tests.support.backends import WITH_SERVERS, Backend, Clock, accepted, opened_for

ENDS = [state for state in RevisionState if state is not RevisionState.ACCEPTED]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=WITH_SERVERS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> AsyncIterator[Backend]:
    async with opened_for(request, request.param, tmp_path, clock) as one:
        yield one


async def test_ledger_accepts_into_the_topic_and_itself(backend: Backend, clock: Clock) -> None:
    """The record is in `documents`, the entry is ACCEPTED, and both name the same position."""
    clock.now_ms = 7_000
    [position] = await backend.ledger.accept([Record("g|a|b", b"text")])
    [delivered] = await backend.log.consumer(DOCUMENTS, "x").poll(5, 0)
    entry = await backend.ledger.latest("g", "a|b")
    assert entry is not None and delivered.position == position == entry.position
    assert (entry.graph, entry.doc_id, entry.state, entry.reason) == ("g", "a|b", RevisionState.ACCEPTED, "")
    assert (entry.attempts, entry.accepted_ms, entry.ended_ms) == (0, 7_000, None)


async def test_ledger_accepts_nothing_when_one_key_is_malformed(backend: Backend) -> None:
    """The append is atomic, in the topic and in the ledger."""
    for bad in ("no bar", "|doc", "graph|", "g|\ud800"):
        with pytest.raises(Rejected):
            await backend.ledger.accept([Record("g|a", b""), Record(bad, b"")])
    assert await backend.log.end(DOCUMENTS) == {0: 0}
    assert await backend.ledger.latest("g", "a") is None


async def test_ledger_leaves_known_revisions_when_they_are_entered_again(backend: Backend) -> None:
    """Records that bypassed `accept` are entered with their own time; known revisions keep their end."""
    [revision] = await accepted(backend, [Record("g|a", b"1")])
    await backend.ledger.finish([RevisionOutcome("g", "a", revision, RevisionState.APPLIED)])
    await backend.log.append(DOCUMENTS, [Record("g|b", b"2")])
    delivered = await backend.log.consumer(DOCUMENTS, "x").poll(5, 0)
    late = ConsumedRecord(delivered[1].position, 555, delivered[1].record)
    numbers = [await backend.ledger.register([delivered[0], late]) for _ in range(2)]
    assert numbers[0] == numbers[1] and numbers[0][0] == revision
    first, second = await backend.ledger.latest("g", "a"), await backend.ledger.latest("g", "b")
    assert first is not None and first.state is RevisionState.APPLIED
    assert second is not None and (second.state, second.accepted_ms) == (RevisionState.ACCEPTED, 555)
    assert sum((await backend.ledger.counts("g")).values()) == 2


async def test_ledger_counts_attempts(backend: Backend) -> None:
    """Each start counts one; a revision that was never entered is refused."""
    [revision] = await accepted(backend, [Record("g|a", b"1")])
    assert [await backend.ledger.start_attempt("g", "a", revision) for _ in range(3)] == [1, 2, 3]
    await backend.ledger.uncount_attempt("g", "a", revision)
    assert await backend.ledger.start_attempt("g", "a", revision) == 3
    for _ in range(5):
        await backend.ledger.uncount_attempt("g", "a", revision)
    await backend.ledger.uncount_attempt("g", "nobody", revision)
    assert [await backend.ledger.start_attempt("g", "a", revision) for _ in range(3)] == [1, 2, 3]
    entry = await backend.ledger.latest("g", "a")
    assert entry is not None and entry.attempts == 3
    for graph, doc_id, number in (("g", "a", revision + 9), ("g", "b", revision), ("h", "a", revision)):
        with pytest.raises(Broken):
            await backend.ledger.start_attempt(graph, doc_id, number)


async def test_ledger_keeps_the_first_end(backend: Backend, clock: Clock) -> None:
    """A second outcome is ignored, whether it comes in the same call or later."""
    [revision] = await accepted(backend, [Record("g|a", b"1")])
    clock.now_ms = 3_000
    failed = RevisionOutcome("g", "a", revision, RevisionState.FAILED, "too long")
    await backend.ledger.finish([failed, RevisionOutcome("g", "a", revision, RevisionState.APPLIED)])
    clock.now_ms = 4_000
    await backend.ledger.finish([RevisionOutcome("g", "a", revision, RevisionState.DELETED, "no")])
    entry = await backend.ledger.latest("g", "a")
    assert entry is not None and (entry.state, entry.reason, entry.ended_ms) == (
        RevisionState.FAILED,
        "too long",
        3_000,
    )


async def test_ledger_ignores_outcomes_of_unknown_revisions(backend: Backend) -> None:
    """Nothing is created; ACCEPTED is not an end."""
    await backend.ledger.finish([RevisionOutcome("g", "a", 3, RevisionState.APPLIED)])
    await backend.ledger.finish([])
    assert not any((await backend.ledger.counts("g")).values())
    with pytest.raises(Broken):
        await backend.ledger.finish([RevisionOutcome("g", "a", 3, RevisionState.ACCEPTED)])


async def test_ledger_names_the_newest_revision(backend: Backend) -> None:
    """The newest revision is returned whatever its state, and only of that document in that graph."""
    _, second, *_ = await accepted(backend, [Record(key, b"") for key in ("g|a", "g|a", "g|b", "h|a")])
    await backend.ledger.finish([RevisionOutcome("g", "a", second, RevisionState.SUPERSEDED)])
    entries = [await backend.ledger.latest(*key) for key in (("g", "a"), ("g", "b"), ("h", "a"), ("h", "b"))]
    assert [entry and entry.position.offset for entry in entries] == [1, 2, 3, None]


async def test_ledger_tells_the_revisions_of_one_graph_by_position(backend: Backend) -> None:
    """From acceptance on, with a number or without, ended or not; no position of another graph, none beyond the end."""
    positions = await backend.ledger.accept([Record(key, b"") for key in ("g|a", "h|a", "g|b")])
    one, foreign, other = positions
    beyond, elsewhere = Position(0, other.offset + 1), Position(7, 0)
    for _ in range(2):
        assert await backend.ledger.have_ended("g", [one, other, one]) is False
        assert await backend.ledger.have_ended("h", [foreign]) is False
        for unknown in (foreign, beyond, elsewhere, Position(0, 10**18 - 1)):
            assert await backend.ledger.have_ended("g", [one, unknown]) is None
        assert await backend.ledger.have_ended("nowhere", [one]) is None
        delivered = await backend.log.consumer(DOCUMENTS, "x").poll(5, 0)
        numbers = await backend.ledger.register(delivered)
        assert (await backend.ledger.numbers("g", [one, foreign, beyond])) == {one: numbers[0]}
        ended = RevisionOutcome("g", "a", numbers[0], RevisionState.APPLIED)
        await backend.ledger.finish([ended])


async def test_ledger_finds_the_unfinished_oldest_first(backend: Backend, clock: Clock) -> None:
    """Order is by the time of acceptance, then by position; ended revisions and younger ones are left out."""
    numbers = {}
    for at, key in ((3_000, "g|a"), (1_000, "g|b"), (2_000, "h|c"), (1_000, "g|d"), (9_000, "g|e")):
        clock.now_ms = at
        [numbers[key]] = await accepted(backend, [Record(key, b"")], at)
    await backend.ledger.finish([RevisionOutcome("h", "c", numbers["h|c"], RevisionState.APPLIED)])
    found = await backend.ledger.unfinished(9_000, 10)
    assert [entry.doc_id for entry in found] == ["b", "d", "a"]
    assert [entry.doc_id for entry in await backend.ledger.unfinished(9_000, 1)] == ["b"]


async def test_ledger_knows_the_oldest_pending_revision_of_each_graph(backend: Backend, clock: Clock) -> None:
    """It is that of the graph alone, however many older revisions of other graphs are pending."""
    numbers = {}
    for at, key in ((1_000, "h|a"), (2_000, "g|b"), (3_000, "g|c")):
        clock.now_ms = at
        [numbers[key]] = await accepted(backend, [Record(key, b"")], at)
    ledger = backend.ledger
    assert [await ledger.oldest_pending(graph) for graph in ("h", "g", "unknown")] == [1_000, 2_000, None]
    await ledger.finish([RevisionOutcome("g", "b", numbers["g|b"], RevisionState.APPLIED)])
    assert await ledger.oldest_pending("g") == 3_000
    await ledger.finish([RevisionOutcome("g", "c", numbers["g|c"], RevisionState.FAILED, "malformed")])
    assert await ledger.oldest_pending("g") is None


async def test_ledger_counts_as_a_recount_does_when_it_is_used_at_random(backend: Backend) -> None:
    """After every step of a random walk, counts and pending equal those of a plain list."""
    seed = 20
    print(f"seed {seed}")
    rng = Random(seed)
    model: list[tuple[str, str, RevisionState]] = []
    numbers: list[int] = []
    for _ in range(60):
        if rng.random() < 0.5:
            keys = [(rng.choice("gh"), rng.choice("abc")) for _ in range(rng.randint(1, 12))]
            numbers += await accepted(backend, [Record("|".join(key), b"") for key in keys])
            model += [(*key, RevisionState.ACCEPTED) for key in keys]
        elif model:
            picked = [rng.randrange(len(model)) for _ in range(4)]
            outcomes = [RevisionOutcome(*model[at][:2], numbers[at], rng.choice(ENDS)) for at in picked]
            await backend.ledger.finish(outcomes)
            for at, outcome in zip(picked, outcomes, strict=True):
                if model[at][2] is RevisionState.ACCEPTED:
                    model[at] = (outcome.graph, outcome.doc_id, outcome.state)
        for graph in "gh":
            counted = Counter(state for name, _, state in model if name == graph)
            assert await backend.ledger.counts(graph) == {state: counted[state] for state in RevisionState}
            assert await backend.ledger.pending(graph) == counted[RevisionState.ACCEPTED]
            assert (await backend.ledger.pending_counts()).get(graph, 0) == counted[RevisionState.ACCEPTED]
            up_to = rng.randint(0, len(model))
            expected = sum(one[0] == graph and one[2] is RevisionState.ACCEPTED for one in model[: up_to + 1])
            known = up_to < len(model) and model[up_to][0] == graph
            assert await backend.ledger.have_ended(graph, [Position(0, up_to)]) == (not expected if known else None)


async def test_ledger_lists_the_newest_revision_of_each_document_in_pages(backend: Backend) -> None:
    """Pages of any size show every document once, with its newest revision, in one order; a prefix selects."""
    draw = Random(5)
    ids = ["a", "a/b", "a/c", "b|x", "é", "z z", "\U0001f30d", "\U0010ffff", "\U0010ffffa", "a\ud7ff", "a\ue000"]
    records = [Record(f"g|{doc_id}", b"text") for doc_id in ids for _ in range(draw.randrange(1, 4))]
    await accepted(backend, [*records, Record("other|a/z", b"text"), Record("g2|a/y", b"text")])
    for prefix in ("", "a", "a/", "é", "\U0010ffff", "a\ud7ff", "none"):
        expected = {doc_id for doc_id in ids if doc_id.startswith(prefix)}
        for limit in (1, 2, 100):
            listed: list[LedgerEntry] = []
            after = ""
            while page := await backend.ledger.documents("g", after, prefix, limit):
                listed += page
                after = page[-1].doc_id
            assert len(listed) == len(expected) and {entry.doc_id for entry in listed} == expected
            assert listed == [await backend.ledger.latest("g", entry.doc_id) for entry in listed]
    assert await backend.ledger.documents("unknown", "", "", 10) == []
