"""Tokens, and waiting for them: a waiting reader sees its own writes, or receives an error."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.errors import BudgetExceeded, DeadlineExceeded, Invalid
from graphtide.streams.follow.progress import TokenWaiter, positions, token
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import Position, Record, RevisionState
from tests.model.memory import MemoryBackend
from tests.support.stages import ExactKeeper, Seen, eventually, extract_stage, running


@dataclass
class Announcing(Seen):
    """An observer that wakes the waiting, as the service's does."""

    progress: list[TokenWaiter] = field(default_factory=list)

    def ended(self, graph: str, state: RevisionState) -> None:
        super().ended(graph, state)
        for one in self.progress:
            one.moved()


@dataclass
class Pipeline:
    """Both stages, views and progress over the reference storage. `gate` holds the followers up while it is clear."""

    backend: MemoryBackend
    views: ViewRegistry
    progress: TokenWaiter
    gate: asyncio.Event

    async def publish(self, doc_id: str, text: str) -> str:
        message = DocumentMessage("g", doc_id, text)
        return token(await self.backend.ledger.accept([Record(message.key, message.encode())]))

    def text_of(self, doc_id: str) -> str:
        view = self.views.get("g")
        row = view.documents.get(doc_id) if view else None
        return " ".join(view.chunks[chunk].text for chunk in row.chunks) if view and row else ""


@pytest.fixture
async def pipeline() -> AsyncIterator[Pipeline]:
    """Return a running pipeline."""
    backend, views, gate = MemoryBackend(), ViewRegistry(ExactKeeper()), asyncio.Event()
    gate.set()
    progress = TokenWaiter(backend.ledger, backend.store, views)
    seen = Announcing(progress=[progress])

    async def follow(delta: object) -> None:
        await gate.wait()
        await views.follow(delta)  # type: ignore[arg-type]
        progress.moved()

    consolidate = ConsolidateStage(backend.log, backend.store, follow, seen)
    async with running(extract_stage(backend, seen=seen).run), running(consolidate.run):
        yield Pipeline(backend, views, progress, gate)


def test_token_names_the_last_position_of_each_partition() -> None:
    """And `positions` reads back what `token` wrote."""
    made = token([Position(1, 4), Position(0, 9), Position(1, 2)])
    assert made == "0:9,1:4" and positions(made) == (Position(0, 9), Position(1, 4))


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "x",
        "0",
        "0:",
        ":0",
        "0:1,",
        "0:-1",
        "-1:0",
        "0:1:2",
        "0:1;1:2",
        "0x0:1",
        "0:1e3",
        "\ud800:1",
        " 0:1",
        "+0:1",
        "\u0661:1",
        "9" * 5000 + ":1",
    ],
)
async def test_reach_refuses_a_token_that_publishing_never_returned(pipeline: Pipeline, garbage: str) -> None:
    """Garbage is Invalid, naming the field, and never a wait or a crash."""
    with pytest.raises(Invalid) as caught:
        await pipeline.progress.reach("g", garbage, 5.0)
    assert caught.value.field == "after" and len(str(caught.value)) < 300


async def test_reach_refuses_a_token_of_a_revision_that_was_never_accepted(pipeline: Pipeline) -> None:
    """Beyond the end of `documents` there is nothing to wait for: Invalid rather than an answer without it."""
    await pipeline.publish("a", "Ada wrote.")
    for far in ("0:999999", f"0:{2**63}", "7:0"):
        with pytest.raises(Invalid):
            await pipeline.progress.reach("g", far, 5.0)


async def test_reach_waits_in_a_cluster_for_a_record_that_another_program_wrote() -> None:
    """The token is unknown until an extractor has read the record; one that none reads is Invalid."""
    backend, views = MemoryBackend(), ViewRegistry(ExactKeeper())
    waiter = TokenWaiter(backend.ledger, backend.store, views, look_every_s=0.001)
    message = DocumentMessage("g", "a", "Ada wrote.")
    with pytest.raises(Invalid):
        await waiter.reach("g", "0:0", 0.01)
    reading = asyncio.create_task(waiter.read("g", "0:0", 60.0))
    await asyncio.sleep(0)
    assert not reading.done()
    await backend.ledger.accept([Record(message.key, message.encode())])
    assert await reading
    assert not await waiter.read("g", "0:1", 0.01)


async def test_reach_refuses_a_token_of_another_graph_as_one_that_nobody_got(pipeline: Pipeline) -> None:
    """A probe sees the same words and class before and after the end of `documents`, pending revisions or not."""
    pipeline.gate.clear()
    own = await pipeline.publish("a", "Ada wrote.")
    other = token(await pipeline.backend.ledger.accept([Record("secret|b", b"no JSON")]))
    pipeline.gate.set()
    messages = set()
    for probe in (other, "0:2", "0:999999", "7:0", f"{own},7:0"):
        with pytest.raises(Invalid) as caught:
            await pipeline.progress.reach("g", probe, 30.0)
        messages.add(str(caught.value).replace(repr(probe), "PROBE"))
    assert len(messages) == 1
    await pipeline.progress.reach("g", own, 30.0)


async def test_reach_returns_only_when_the_view_shows_the_revision(pipeline: Pipeline) -> None:
    """Committed and not followed is not enough."""
    pipeline.gate.clear()
    after = await pipeline.publish("a", "Ada wrote.")
    await eventually(lambda: _applied(pipeline, 1))
    with pytest.raises(DeadlineExceeded, match=after):
        await pipeline.progress.reach("g", after, 0.05)
    waiting = asyncio.create_task(pipeline.progress.reach("g", after, 30.0))
    pipeline.gate.set()
    await waiting
    assert pipeline.text_of("a") == "Ada wrote."


async def test_reach_ends_when_the_revision_fails(pipeline: Pipeline) -> None:
    """A dead-lettered revision has its end, so there is nothing more to wait for."""
    await pipeline.publish("first", "Ada wrote.")
    after = token(await pipeline.backend.ledger.accept([Record("g|bad", b"no JSON")]))
    await pipeline.progress.reach("g", after, 30.0)
    assert (await pipeline.backend.ledger.counts("g"))[RevisionState.FAILED] == 1


async def test_reach_ends_for_a_graph_whose_only_revision_failed(pipeline: Pipeline) -> None:
    """There is no view and will be none, and the wait ends all the same."""
    after = token(await pipeline.backend.ledger.accept([Record("empty|bad", b"no JSON")]))
    await pipeline.progress.reach("empty", after, 30.0)


async def test_reach_passes_the_deadline_while_a_revision_in_front_has_no_end(pipeline: Pipeline) -> None:
    """Revisions accepted earlier belong to the token, too; when the last has any final state, the wait ends."""
    backend = pipeline.backend
    pipeline.gate.clear()
    await pipeline.publish("a", "Ada wrote.")
    after = await pipeline.publish("b", "Charles wrote.")
    with pytest.raises(DeadlineExceeded):
        await pipeline.progress.reach("g", after, 0.05)
    pipeline.gate.set()
    await pipeline.progress.reach("g", after, 30.0)
    assert await backend.ledger.pending("g") == 0


async def test_reach_raises_the_refusal_of_a_budget_that_lasts_beyond_the_deadline(pipeline: Pipeline) -> None:
    """At once, and only then: a refusal that ends before the deadline is waited for."""
    pipeline.gate.clear()
    after = await pipeline.publish("a", "Ada wrote.")
    lasts_s = [3600.0]

    def refusal(graph: str, until: Sequence[Position]) -> BudgetExceeded:
        assert (graph, tuple(until)) == ("g", positions(after))
        return BudgetExceeded("the budget of graph 'g' is used up", lasts_s[0])

    with pytest.raises(BudgetExceeded, match="budget of graph 'g'"):
        await pipeline.progress.reach("g", after, 3000.0, refusal)
    lasts_s[0] = 30.0
    waiting = asyncio.create_task(pipeline.progress.reach("g", after, 3000.0, refusal))
    pipeline.gate.set()
    await waiting
    assert pipeline.text_of("a") == "Ada wrote."


async def test_reader_sees_its_own_writes_under_concurrent_load(pipeline: Pipeline) -> None:
    """Twelve publishers at once, each editing its own document and reading it back after each token."""
    seed = 3
    print(f"seed {seed}")
    rng = random.Random(seed)

    async def publisher(name: str, edits: int) -> None:
        for number in range(edits):
            text = f"Ada met {name} {number} times."
            await pipeline.progress.reach("g", await pipeline.publish(name, text), 60.0)
            assert pipeline.text_of(name) == text

    await asyncio.gather(*(publisher(f"p{number}", rng.randint(3, 9)) for number in range(12)))


async def _applied(pipeline: Pipeline, count: int) -> bool:
    return (await pipeline.backend.ledger.counts("g"))[RevisionState.APPLIED] == count


async def test_reached_reads_the_ledger_and_the_version_once_for_a_shown_token(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shown token costs one read of the ledger and one of its graph; with 0 s a pending one is False at once."""
    pipeline.gate.clear()
    own, reads = await pipeline.publish("a", "Ada wrote."), list[str]()
    ledger, store = pipeline.backend.ledger, pipeline.backend.store
    for port, name in ((ledger, "have_ended"), (ledger, "pending"), (store, "version")):
        read = getattr(port, name)

        async def counted(*args: object, name: str = name, read: Callable[..., Awaitable[object]] = read) -> object:
            reads.append(name)
            return await read(*args)

        monkeypatch.setattr(port, name, counted)
    assert not await pipeline.progress.reached("g", own, 0.0)
    pipeline.gate.set()
    assert await pipeline.progress.reached("g", own, 30.0)
    reads.clear()
    assert await pipeline.progress.reached("g", own, 30.0) and await pipeline.progress.reached("g", own, 0.0)
    assert reads == ["have_ended", "version"] * 2
