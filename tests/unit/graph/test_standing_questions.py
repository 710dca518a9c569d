"""Standing questions against their oracle: every question is asked again, exactly, after every commit.

A longer run: GRAPHTIDE_STANDING_STEPS=2000 GRAPHTIDE_STANDING_SEED=7 pytest tests/unit/graph/test_standing_questions.py
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.time_limits import with_time_limits
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.standing.evaluation import evaluate
from graphtide.graph.standing.evaluator import GraphEvaluator
from graphtide.graph.standing.types import EVALUATED_MODES, EvidenceChange
from graphtide.graph.vector_index import ExactIndex, SearchResult
from graphtide.graph.view import LiveView, walk_entity
from tests.support.extractions import NAMES, random_extraction, unit, vector
from tests.support.random_options import random_options
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

STEPS = int(os.environ.get("GRAPHTIDE_STANDING_STEPS", "30"))
SEED = int(os.environ.get("GRAPHTIDE_STANDING_SEED", "1"))
SOURCES = ("a", "b")


def ask_exactly(view: LiveView, question: Question) -> list[str]:
    """Return the passages of a query with `exact`."""
    asked = with_time_limits(view, replace(question, exact=True))
    return [passage.chunk_id for passage in retrieve(view, asked).passages]


def random_question(rng: random.Random) -> Question:
    """Return a question in any evaluated mode, often with filters, and sometimes in the direction of a name."""
    text = f"how does {rng.choice(NAMES)} know {rng.choice(NAMES)}"
    mode, filters = rng.choice(EVALUATED_MODES), Filters()
    if rng.random() < 0.4:
        choices = (
            Filters(sources=(rng.choice(SOURCES),)),
            Filters(doc_ids=("d1", "d2", "d5")),
            Filters(occurred_from="2020"),
            Filters(as_of="2021"),
            Filters(metadata=(("team", rng.choice(SOURCES)),)),
        )
        filters = rng.choice(choices)
    if rng.random() < 0.1:
        text = "summarise the notes of March"
    options = random_options(rng, mode) if rng.random() < 0.3 else ()
    return Question(text, vector(text).astype(np.float32), rng.choice((1, 2, 5)), mode, filters, options=options)


@dataclass
class Stream:
    """A stream of commits over a few documents, and the questions registered for it."""

    rng: random.Random
    world: RandomWorld
    view: LiveView = field(default_factory=empty_view)
    evaluator: GraphEvaluator = field(default_factory=GraphEvaluator)
    questions: dict[str, Question] = field(default_factory=dict)
    expected: dict[str, list[str]] = field(default_factory=dict)

    def register(self, question_id: str, question: Question) -> None:
        self.questions[question_id] = question
        self.evaluator.put(self.view, question_id, question)
        self.expected[question_id] = ask_exactly(self.view, question)

    def drop(self, question_id: str) -> None:
        self.evaluator.drop(question_id)
        del self.questions[question_id], self.expected[question_id]

    def commit(self) -> Sequence[EvidenceChange]:
        """Make a random commit, and check what the evaluator reports against the oracle."""
        delta = self.world.change(*self._revisions())
        self.view.apply(delta)
        changes = {change.question_id: change for change in self.evaluator.advance(self.view, delta)}
        for question_id, question in self.questions.items():
            before, after = self.expected[question_id], ask_exactly(self.view, question)
            assert (question_id in changes) == (before != after), (question_id, question.mode, question.filters)
            if question_id in changes:
                change = changes[question_id]
                assert [passage.chunk_id for passage in change.before] == before
                assert [passage.chunk_id for passage in change.after] == after
                assert {p.chunk_id for p in change.entered} == set(after) - set(before)
                assert {p.chunk_id for p in change.left} == set(before) - set(after)
            assert [passage.chunk_id for passage in self.evaluator.evidence(question_id)] == after
            self.expected[question_id] = after
        assert changes.keys() <= self.questions.keys()
        return list(changes.values())

    def _revisions(self) -> list[Extraction | str]:
        news: dict[str, Extraction | str] = {}
        for _ in range(self.rng.choice((1, 1, 1, 3))):
            doc_id = f"d{self.rng.randint(1, 12)}"
            live = self.world.live.get(doc_id)
            if live is not None and self.rng.random() < 0.3:
                news[doc_id] = doc_id
            elif live is not None and self.rng.random() < 0.3:  # metadata alone, or the same again
                news[doc_id] = replace(live, revision=live.revision + 1, info=self._info())
            elif self.world.live and self.rng.random() < 0.2:  # the text of another document
                other = self.world.live[self.rng.choice(sorted(self.world.live))]
                news[doc_id] = replace(other, doc_id=doc_id, revision=other.revision + 1, info=self._info())
            else:
                made = random_extraction(self.rng, doc_id, self.rng.randrange(1000), live)
                news[doc_id] = replace(made, info=self._info())
        return list(news.values())

    def _info(self) -> DocumentInfo:
        pick = self.rng.choice
        metadata = (("team", f'"{pick(SOURCES)}"'),)
        return DocumentInfo(pick(NAMES), pick(SOURCES), pick(("", "2019", "2021-03-02", "2022-05")), metadata)


@pytest.mark.parametrize("seed", [SEED, pytest.param(SEED + 1, marks=pytest.mark.thorough)])
def test_changes_are_those_of_asking_every_question_again_after_every_commit(seed: int) -> None:
    """No change is missed, none is reported without need, each is reported once; questions come and go meanwhile."""
    print("seed", seed)
    rng = random.Random(seed)
    stream = Stream(rng, RandomWorld(random.Random(seed + 100)))
    fired = 0
    for step in range(STEPS):
        if step % 4 == 0:
            stream.register(f"q{step}", random_question(rng))
        if step % 9 == 8:
            stream.drop(rng.choice(sorted(stream.questions)))
        if step % 7 == 6:  # a question that is registered again, and one that shares an evaluation
            again = rng.choice(sorted(stream.questions))
            stream.register(again, stream.questions[again])
            stream.register(f"twin{step}", stream.questions[again])
        fired += len(stream.commit())
    assert fired, "no question fired: the stream proves nothing"


TOPICS = ("harbour", "orchard", "quarry")
PER_TOPIC = PairSettings().near + 10
"""More documents of a topic than the nearest passages that an evaluation reads."""


def topical(rng: random.Random, doc_id: str, topic: str) -> Extraction:
    """Return a document of one topic, near all others of it, about people that no other topic mentions."""
    names = [f"{topic} {name}" for name in rng.sample(("Abel", "Berta", "Cilla", "Drago", "Edda", "Frode"), 2)]
    text = f"{topic} {topic} {topic} {' '.join(names)} {rng.choice(('iron', 'copper', 'amber', 'salt'))} {doc_id}"
    facts = [(0, rng.choice(("met", "paid", "knew")), 1)]
    return Extraction(
        doc_id, rng.randrange(10_000), DocumentInfo(doc_id), (unit(text, [(n, "", "") for n in names], facts),)
    )


@pytest.fixture(scope="module")
def topics() -> tuple[RandomWorld, LiveView]:
    """Return a graph of three topics that share no entity."""
    rng, world, view = random.Random(11), RandomWorld(random.Random(12)), empty_view()
    documents = [topical(rng, f"{topic}-{n}", topic) for topic in TOPICS for n in range(PER_TOPIC)]
    view.apply(world.change(*documents))
    return world, view


def test_evaluations_are_few_and_changes_complete_when_topics_are_separate(
    topics: tuple[RandomWorld, LiveView],
) -> None:
    """Commits in one topic evaluate no question about another, in any tracked mode; the oracle asks all of them."""
    print("seed", SEED)
    rng, (world, view) = random.Random(SEED), topics
    evaluator = GraphEvaluator()
    asked = {
        f"{topic}-{mode}": Question(
            f"{topic} Abel iron", vector(f"{topic} {topic} Abel iron").astype(np.float32), 3, mode
        )
        for topic in TOPICS
        for mode in ("local", "passages", "vector")
    }
    expected = {name: [p.chunk_id for p in evaluator.put(view, name, question)] for name, question in asked.items()}
    for step in range(STEPS // 2):
        topic = rng.choice(TOPICS[:2])
        doc_id = f"{topic}-{rng.randrange(PER_TOPIC + 5)}"
        gone = doc_id in world.live and rng.random() < 0.4
        delta = world.change(doc_id if gone else topical(rng, doc_id, topic))
        view.apply(delta)
        changed = {change.question_id for change in evaluator.advance(view, delta)}
        for name, question in asked.items():
            after = ask_exactly(view, question)
            assert (name in changed) == (after != expected[name]), (step, name)
            expected[name] = after
    counters = evaluator.counters
    assert counters.evaluated < counters.registered / 2, counters
    assert counters.evaluated > 0


def chained(number: int, name: str) -> Extraction:
    """Return a document that leads from one entity of a chain to another one, far from every question."""
    mentions = [(f"Vault {number}", "", ""), (name, "", "")]
    piece = unit(f"zinc ledger {number} {name}", mentions, [(0, "adjoins", 1)])
    return Extraction(f"chain-{number}-{name}", number, DocumentInfo(), (piece,))


def test_commit_is_evaluated_where_the_walk_reads_it_and_searched_for_where_a_hit_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A greater degree beside the walk changes nothing; a smaller one may; neither changes what searches find."""
    rng, world, view = random.Random(21), RandomWorld(random.Random(22)), empty_view()
    documents = [topical(rng, f"harbour-{n}", "harbour") for n in range(PER_TOPIC)]
    first = unit("zinc ledger start", [("harbour Abel", "", ""), ("Vault 0", "", "")], [(0, "adjoins", 1)])
    documents.append(Extraction("start", 1, DocumentInfo(), (first,)))
    view.apply(world.change(*documents, *(chained(n, f"Vault {n + 1}") for n in range(25))))
    question = Question("harbour Abel iron", vector("harbour harbour Abel iron").astype(np.float32), 3, "local")
    evaluator = GraphEvaluator()
    evaluator.put(view, "q", question)
    searches = 0
    search = ExactIndex.search

    def counted(*args: Any, **options: Any) -> SearchResult:
        nonlocal searches
        searches += 1
        return search(*args, **options)

    monkeypatch.setattr(ExactIndex, "search", counted)

    def costs(change: Extraction | str) -> tuple[int, int]:
        """Return the evaluations and the searches of a commit; the evidence is that of an exact question."""
        nonlocal searches
        delta = world.change(change)
        view.apply(delta)
        before, searches = evaluator.counters.evaluated, 0
        evaluator.advance(view, delta)
        taken = evaluator.counters.evaluated - before, searches
        assert [passage.chunk_id for passage in evaluator.evidence("q")] == ask_exactly(view, question)
        return taken

    nodes = evaluate(view, question).dependencies.nodes
    assert nodes is not None
    reached = [walk_entity(*view.named(f"vault {n}")) in set(nodes.tolist()) for n in range(25)]
    beyond = reached.index(False)
    assert beyond > 2 and not any(reached[beyond:]), reached
    assert costs(chained(beyond, "Oak Barn")) == (0, 0)
    assert costs(chained(beyond, "Oak Mill")) == (0, 0)
    assert costs(f"chain-{beyond}-Oak Barn") == (1, 0)
    assert costs(chained(0, "Oak Yard")) == (1, 0)
    evaluated, searched = costs(topical(rng, "harbour-new", "harbour"))
    assert evaluated == 1 and searched >= 3


@pytest.mark.parametrize("mode", ["vector", "local"])
def test_question_that_names_a_month_follows_the_first_document_of_that_month(mode: str) -> None:
    """Until then its words limit nothing. The document may be the farthest of all."""
    view, world, evaluator = empty_view(), RandomWorld(random.Random(5)), GraphEvaluator()
    near = [
        Extraction(f"near{n}", n, DocumentInfo(f"near{n}"), (unit(f"{NAMES[0]} note {n}", [(NAMES[0], "", "")], []),))
        for n in range(6)
    ]
    view.apply(world.change(*near))
    question = Question("summarise the notes of March", vector(near[0].units[0].text).astype(np.float32), 2, mode)
    evaluator.put(view, "q", question)
    before = ask_exactly(view, question)
    far = Extraction("far", 9, DocumentInfo("far", "", "2024-03-05"), (unit("zinc", [(NAMES[3], "", "")], []),))
    delta = world.change(far)
    view.apply(delta)
    changed = {change.question_id for change in evaluator.advance(view, delta)}
    after = ask_exactly(view, question)
    assert before != after
    assert changed == {"q"}
    assert [passage.chunk_id for passage in evaluator.evidence("q")] == after


def test_graph_without_questions_costs_nothing() -> None:
    """No exact index is built, and no commit is examined."""
    view, world, evaluator = empty_view(), RandomWorld(random.Random(3)), GraphEvaluator()
    for _ in range(5):
        delta = world.step()
        view.apply(delta)
        assert evaluator.advance(view, delta) == ()
    assert evaluator.counters.commits == 0
    assert not view.exact.exist


def test_question_is_evaluated_again_when_the_graph_was_rebuilt() -> None:
    """A rebuilt graph has other internal numbers; the evidence is the same, so no change is reported."""
    world, view, evaluator = RandomWorld(random.Random(8)), empty_view(), GraphEvaluator()
    for _ in range(12):
        view.apply(world.step())
    questions = {f"q{n}": random_question(random.Random(n)) for n in range(12)}
    before = {name: evaluator.put(view, name, question) for name, question in questions.items()}
    rebuilt = empty_view()
    snapshot = snapshot_of(world.live)
    rebuilt.apply(snapshot)
    assert evaluator.advance(rebuilt, snapshot) == ()
    for name in questions:
        assert [p.chunk_id for p in evaluator.evidence(name)] == [p.chunk_id for p in before[name]]


def test_questions_with_equal_requests_share_one_evaluation() -> None:
    """Ten thousand readers of one question cost one evaluation."""
    view, evaluator = empty_view(), GraphEvaluator()
    view.apply(RandomWorld(random.Random(2)).step())
    question = random_question(random.Random(2))
    for number in range(100):
        evaluator.put(view, f"q{number}", replace(question))
    assert (len(evaluator), evaluator.evaluations) == (100, 1)
    for number in range(100):
        evaluator.drop(f"q{number}")
    assert (len(evaluator), evaluator.evaluations) == (0, 0)
