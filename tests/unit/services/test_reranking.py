"""Reranking of a question's passages: the order, and the mode's own result when there are no scores."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.view import LiveView
from graphtide.services.query.reranking import RERANKED_MODES, Reranking, ranking_by
from graphtide.streams.errors import Retryable
from graphtide.streams.scheduling.work_pool import WorkPool
from tests.model.small_views import bag_of_words, random_documents, small_view
from tests.support.worlds import RandomWorld, empty_view

TEXT = "lin near cedar"


@dataclass
class FakeReranker:
    """Scores texts by `score`; `meanwhile` runs during the call. `asked` are the texts of each call."""

    score: Callable[[str], float] = len
    meanwhile: Callable[[], None] = lambda: None
    error: Exception | None = None
    hangs: bool = False
    asked: list[Sequence[str]] = field(default_factory=list)
    name: str = "fake"

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        self.asked.append(texts)
        self.meanwhile()
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return [float(self.score(text)) for text in texts]


@pytest.fixture(scope="module")
def view() -> LiveView:
    return small_view(random_documents(random.Random(5), 60))


def ask(mode: str, top_k: int = 5, explain: bool = False) -> Question:
    return Question(TEXT, bag_of_words(TEXT), top_k, mode, explain=explain)


async def rerank(view: LiveView, question: Question, reranking: Reranking) -> RetrievalResult:
    pool = WorkPool()
    try:
        find = await ranking_by(view, question, reranking, pool)
        with view.lock.read():
            return find()
    finally:
        pool.close()


def ids(result: RetrievalResult) -> list[str]:
    return [passage.chunk_id for passage in result.passages]


@pytest.mark.parametrize("mode", sorted(RERANKED_MODES))
async def test_passages_are_in_the_order_of_the_scores(view: LiveView, mode: str) -> None:
    """The best of the mode's candidates by score, with the score; relations are those that these passages state."""
    fake, outcomes = FakeReranker(score=lambda text: -len(text)), list[str]()
    found = await rerank(view, ask(mode), Reranking(fake, 20, 5.0, lambda outcome, _: outcomes.append(outcome)))
    wide = retrieve(view, ask(mode, 20)).passages
    expected = sorted(wide, key=lambda one: len(fake.asked[0][wide.index(one)]))[:5]
    assert ids(found) == [one.chunk_id for one in expected]
    assert [one.score for one in found.passages] == sorted((one.score for one in found.passages), reverse=True)
    assert len(fake.asked[0]) == len(wide) and outcomes == ["reranked"]


async def test_passages_beyond_the_candidates_follow_in_the_order_of_the_mode(view: LiveView) -> None:
    """A reranker that reads three of eight passages moves these three alone; scores still fall."""
    found = await rerank(view, ask("vector", 8), Reranking(FakeReranker(), 3))
    before = ids(retrieve(view, ask("vector", 8)))
    assert sorted(ids(found)[:3]) == sorted(before[:3]) and ids(found)[3:] == before[3:]
    assert [one.score for one in found.passages] == sorted((one.score for one in found.passages), reverse=True)


@pytest.mark.parametrize("mode", sorted(RERANKED_MODES))
async def test_equal_scores_keep_the_order_of_the_mode(view: LiveView, mode: str) -> None:
    """Ties are broken by the mode's ranking, so a reranker that knows nothing changes nothing."""
    found = await rerank(view, ask(mode), Reranking(FakeReranker(score=lambda _: 1.0)))
    assert ids(found) == ids(retrieve(view, ask(mode)))


@pytest.mark.parametrize("fake", [FakeReranker(error=Retryable("no endpoint")), FakeReranker(hangs=True)])
@pytest.mark.parametrize("mode", sorted(RERANKED_MODES))
async def test_failure_gives_the_result_of_the_mode_with_a_note(view: LiveView, mode: str, fake: FakeReranker) -> None:
    """An error and a late answer change nothing but the trace, which names the reason."""
    outcomes = list[str]()
    limits = Reranking(fake, timeout_s=0.01 if fake.hangs else 5.0, called=lambda outcome, _: outcomes.append(outcome))
    own = retrieve(view, ask(mode))
    assert await rerank(view, ask(mode), limits) == own
    explained = await rerank(view, ask(mode, explain=True), limits)
    assert explained.trace is not None and explained.trace.steps[-1].name == "rerank"
    assert ("no endpoint" if fake.error else "0.01 s") in explained.trace.steps[-1].about
    assert outcomes == ["failed", "failed"]


async def test_trace_of_a_failure_names_no_address(view: LiveView) -> None:
    """Every reader of a graph sees traces; the address of the endpoint is in the log of the service alone."""
    fake = FakeReranker(error=Retryable("the rerank endpoint http://models:9/v1 cannot be reached"))
    found = await rerank(view, ask("local", explain=True), Reranking(fake))
    assert found.trace is not None
    assert found.trace.steps[-1].about.endswith("the rerank endpoint cannot be reached")


async def test_trace_shows_the_places_before(view: LiveView) -> None:
    """The last step has each passage's score and its place in the mode's ranking."""
    found = await rerank(view, ask("local", explain=True), Reranking(FakeReranker()))
    before = ids(retrieve(view, ask("local", 40)))
    assert found.trace is not None
    shown = {item.id: dict(item.parts)["place before"] for item in found.trace.steps[-1].items}
    assert shown == {one: before.index(one) + 1 for one in ids(found)}


async def test_graph_that_changes_meanwhile_gives_a_result_of_one_version() -> None:
    """Passages that were deleted while the reranker worked are not in the result."""
    world, view = RandomWorld(random.Random(3)), empty_view()
    for _ in range(6):
        view.apply(world.step())
    doc_id = sorted(world.live)[0]
    fake = FakeReranker(meanwhile=lambda: view.apply(world.change(doc_id)))
    vector = next(iter(view.chunks.values())).vector
    question = Question("what is it", vector.astype("float32"), 50, "vector")
    found = await rerank(view, question, Reranking(fake))
    assert found.version == view.version and doc_id not in {one.doc_id for one in found.passages}
    assert sorted(ids(found)) == sorted(ids(retrieve(view, question)))


async def test_nothing_to_rerank_calls_no_model(view: LiveView) -> None:
    """One candidate, or none, needs no order."""
    fake = FakeReranker()
    empty = small_view([])
    assert (await rerank(empty, ask("local"), Reranking(fake))).passages == ()
    assert fake.asked == []
    assert replace(Reranking(fake), candidates=2).candidates == 2
