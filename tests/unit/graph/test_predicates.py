"""The laws of merged predicates: a judge alone merges them, in any order of events, and deletions undo it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from graphtide.graph.changes.tables import RowTables
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import differences, digest
from graphtide.graph.records import (
    ChunkContribution,
    DocumentChange,
    DocumentInfo,
    Extraction,
    Fact,
    GraphDelta,
    Mention,
    Vector,
)
from graphtide.graph.resolution import PairQuestion
from graphtide.graph.resolution.predicates.groups import PredicateGroups
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE, meaning_class, pair_of
from graphtide.graph.resolution.predicates.vectors import predicate_vector, residual
from graphtide.graph.resolution.similarity import cosine_milli
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.validity import intervals
from graphtide.services.inspection.entity_details import explain_entity
from graphtide.streams.follow import delta_codec
from graphtide.streams.messages import unit_key
from tests.support.extractions import vector
from tests.support.judged_world import EVERYTHING, JudgedWorld, random_changes
from tests.support.seeds import seeds

MEANINGS = {
    "founded": "begin",
    "established": "begin",
    "set up": "begin",
    "lives in": "dwell",
    "resides in": "dwell",
    "has home in": "dwell",
    "ended": "stop",
    "closed": "stop",
}
PEOPLE = ("Ada Quist", "Bo Lind", "Cem Arslan", "Dora Vance", "Emil Roth")
PLACES = ("Harbour Mill", "Nordby Works", "Old Quarry", "Pine Foundry")
DIMENSIONS = 32


def passage(text: str, facts: Sequence[tuple[str, str, str]]) -> ChunkContribution:
    """Return a unit with facts between people and places; a fact's vector is that of its ends and its meaning."""
    names = list(dict.fromkeys(name for s, _, o in facts for name in (s, o)))
    mentions = tuple(
        Mention(name, "person" if name in PEOPLE else "place", "", vector(name, DIMENSIONS)) for name in names
    )
    statements = tuple(
        Fact(names.index(s), p, names.index(o), "", f"{s} {p} {o}.", 1000, stated(s, p, o)) for s, p, o in facts
    )
    own = vector(text, DIMENSIONS)
    return ChunkContribution(
        unit_key(text, own, mentions, statements, ("", "")), text, 0, len(text), own, mentions, statements
    )


def stated(subject: str, predicate: str, object_: str) -> Vector:
    """Return the vector of a statement: predicates of one meaning differ a little."""
    ends = vector(subject, DIMENSIONS).astype(float) + vector(object_, DIMENSIONS)
    meaning = vector(MEANINGS.get(predicate, predicate), DIMENSIONS).astype(float)
    total = ends + meaning + 0.15 * vector(f"form {predicate}", DIMENSIONS)
    unit: Vector = (total / np.linalg.norm(total)).astype(np.float16)
    return unit


class World(JudgedWorld):
    """A world that also proposes predicates, with the tables of a change feed beside the view."""

    def __init__(self) -> None:
        super().__init__(DIMENSIONS, predicates=True)
        self.tables = RowTables("world")

    def publish(self, doc_id: str, *facts: tuple[str, str, str], occurred_at: str = "") -> None:
        piece = passage(f"Passage {doc_id}.", facts)
        self.change({doc_id: Extraction(doc_id, len(self.live) + 1, DocumentInfo(occurred_at=occurred_at), (piece,))})

    def rebuilt(self, batch: int = EVERYTHING) -> GraphDelta:
        """Return the rows of a build in batches by a process that asks no judge."""
        writer, tables = Consolidator("world", verdicts=self.verdicts), RowTables("world")
        ids = sorted(self.live, reverse=True)
        for start in range(0, max(len(ids), 1), batch):
            tables.apply(writer.apply([DocumentChange(d, None, self.live[d]) for d in ids[start : start + batch]]))
        return replace(tables.snapshot(), communities=writer.hierarchy())

    def predicate_questions(self) -> list[PairQuestion]:
        return [question for question in self.writer.borderline(EVERYTHING) if question.pair[0][1] == PREDICATE_TYPE]

    def follow(self, delta: GraphDelta) -> None:
        """Send the delta through the codec of followers, and check that a change of links can be undone."""
        delta = delta_codec.decode(delta_codec.encode(delta, sums=False))
        before = self.view.predicates.links()
        super().follow(delta)
        self.tables.predicate_links = set(self.view.predicates.links())
        self.tables.version = delta.version
        self.tables.revert(GraphDelta("world", delta.version, delta.gone, predicate_links=delta.predicate_links),
                           GraphDelta("world", delta.version - 1))  # fmt: skip
        assert tuple(sorted(self.tables.predicate_links)) == before
        assert self.view.digests.read(self.view)[1] == digest(self.view.rows())


def _document(rng: random.Random, doc_id: str, revision: int) -> Extraction:
    facts = [(rng.choice(PEOPLE), rng.choice(sorted(MEANINGS)), rng.choice(PLACES)) for _ in range(rng.randint(1, 3))]
    return Extraction(doc_id, revision, DocumentInfo(), (passage(f"Passage {doc_id} {revision}.", facts),))


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_links_are_those_of_the_live_documents_when_a_judge_answers_at_any_time(seed: int) -> None:
    """After each step the rows are a rebuild's, in one batch and in several; when all is answered, those of the live
    documents in another order. Restarts lose nothing."""
    print(f"seed {seed}")
    rng, world, links = random.Random(seed), World(), 0
    for news in random_changes(rng, 24, _document):
        world.change(news)
        world.judge(rng.choice((0, 0, 1, 4)))
        if rng.random() < 0.2:
            rng.choice((world.restart, world.resume))()
        assert differences(world.view.rows(), world.rebuilt()) == ()
        assert differences(world.view.rows(), world.rebuilt(batch=2)) == ()
        links += len(world.view.predicates)
    assert links, "the walk was made to link predicates"
    world.check_order(World(), rng)
    world.change(dict.fromkeys(world.live))
    assert not world.view.predicates.links() and world.writer.borderline(9) == []


def test_predicates_stay_separate_without_a_verdict() -> None:
    """Vectors propose and never merge: a writer that proposes predicates has the rows of one that does not."""
    rng, world, plain = random.Random(1), World(), Consolidator("world")
    documents = {f"d{n}": _document(rng, f"d{n}", n) for n in range(1, 9)}
    world.change(dict(documents))
    delta = plain.apply([DocumentChange(d, None, documents[d]) for d in documents])
    assert differences(world.view.rows(), replace(delta, snapshot=True, communities=plain.hierarchy())) == ()
    assert world.predicate_questions() and plain.borderline(EVERYTHING) == []


def test_merge_is_shown_with_its_rule_and_ends_with_its_documents() -> None:
    """Two predicates become one relation with the weight of both, and separate when one has no statement left."""
    world = World()
    world.publish("a", (PEOPLE[0], "founded", PLACES[0]))
    world.publish("b", (PEOPLE[0], "established", PLACES[0]))
    (question,) = world.predicate_questions()
    assert question.pair == pair_of("founded", "established")
    assert question.contexts == (
        ("from: person; to: place", "ada quist established harbour mill"),
        ("from: person; to: place", "ada quist founded harbour mill"),
    )
    world.answer(question, True)
    assert world.predicate_questions() == []
    chunks = sorted(world.view.chunks)
    assert [(edge.predicate, edge.weight) for edge in supported_subgraph(world.view, chunks).edges] == [
        ("founded", 2.0)
    ]
    (node,) = world.view.named("ada quist")
    shown = explain_entity(world.view, node)
    assert [(m.a, m.b, m.rule, m.holds) for m in shown.merges] == [("established", "founded", "predicate", True)]
    assert [edge.predicate for edge in shown.relations] == ["founded"]
    world.change({"a": None})
    assert [edge.predicate for edge in explain_entity(world.view, node).relations] == ["established"]
    assert not world.view.predicates.links()
    world.publish("a", (PEOPLE[0], "founded", PLACES[0]))
    assert world.view.predicates.links() == (("established", "founded"),), "the verdict is stored, like a document"
    world.answer(question, False)
    assert not world.view.predicates.links()


def test_question_is_repeated_when_the_statements_change() -> None:
    """The earlier verdict applies until the new one arrives."""
    world = World()
    world.publish("a", (PEOPLE[0], "founded", PLACES[0]))
    world.publish("b", (PEOPLE[1], "established", PLACES[1]))
    (question,) = world.predicate_questions()
    world.answer(question, True)
    world.publish("c", (PEOPLE[2], "founded", PLACES[2]))
    (again,) = world.predicate_questions()
    assert again.pair == question.pair and again.contexts != question.contexts
    assert world.view.predicates.links() == (("established", "founded"),)
    world.restart()
    assert world.predicate_questions() == [again]
    assert world.view.predicates.links() == (("established", "founded"),)


def test_merged_predicate_is_functional_when_one_of_its_group_is() -> None:
    """ "has home in" alone contradicts nothing; as "lives in", which admits one place at a time, it does."""
    world = World()
    world.publish("a", (PEOPLE[0], "lives in", PLACES[0]), occurred_at="2001-01-01")
    world.publish("b", (PEOPLE[0], "has home in", PLACES[1]), occurred_at="2005-01-01")
    rows = [row for chunk in world.view.chunks.values() for row in chunk.evidence]
    old = next(row for row in rows if world.view.statements[row.statement].predicate == "lives in")
    assert intervals.ValidityReader(world.view).of_support(old).ended_by is None
    (question,) = world.predicate_questions()
    world.answer(question, True)
    assert intervals.ValidityReader(world.view).of_support(old).ended_by == ("b", 2)
    world.change({"b": None})
    assert intervals.ValidityReader(world.view).of_support(old).ended_by is None


def test_predicates_of_other_tense_sign_number_or_types_are_never_proposed() -> None:
    """Guards come before the judge."""
    assert meaning_class("mayor of") == meaning_class("is the mayor of") != meaning_class("was mayor of")
    assert meaning_class("founded by") == meaning_class("was founded by")
    assert meaning_class("owns") != meaning_class("does not own")
    assert meaning_class("ranked 1 in") != meaning_class("ranked 2 in")
    world = World()
    MEANINGS["was head of"] = MEANINGS["head of"] = "lead"
    world.publish("a", (PEOPLE[0], "was head of", PLACES[0]))
    world.publish("b", (PEOPLE[1], "head of", PLACES[1]))
    world.publish("c", (PLACES[2], "closed", PLACES[1]))
    world.publish("d", (PEOPLE[1], "ended", PLACES[1]))
    assert world.predicate_questions() == []


def test_vector_of_a_predicate_does_not_depend_on_its_ends() -> None:
    """Statements of two meanings about the same things differ; those of one meaning about others do not."""
    rng = np.random.default_rng(0)
    unit = [row / np.linalg.norm(row) for row in rng.standard_normal((8, 64))]
    meanings, ends = unit[:2], unit[2:]

    def of(meaning: int, pairs: Sequence[tuple[int, int]]) -> np.ndarray:
        parts = [(ends[a] + ends[b] + meanings[meaning], ends[a], ends[b]) for a, b in pairs]
        residuals = [
            residual((s / np.linalg.norm(s)).astype(np.float32), a.astype(np.float32), b.astype(np.float32))
            for s, a, b in parts
        ]
        found = predicate_vector(residuals)
        assert found is not None
        return found

    one, other = of(0, [(0, 1), (2, 3)]), of(1, [(0, 1), (2, 3)])
    elsewhere = of(0, [(4, 5), (1, 4)])
    assert cosine_milli(one, elsewhere) > 800
    assert cosine_milli(one, other) < 500


def test_groups_are_the_components_of_the_links_in_any_order() -> None:
    """Adding and removing links in random order gives the groups of the links that are left."""
    rng = random.Random(4)
    names = [f"p{n}" * (1 + n % 3) for n in range(12)]
    groups, links = PredicateGroups(), set[tuple[str, str]]()
    for _ in range(300):
        a, b = sorted(rng.sample(names, 2))
        added, removed = ([(a, b)], []) if (a, b) not in links else ([], [(a, b)])
        groups.apply(added, removed)
        links ^= {(a, b)}
        fresh = PredicateGroups(sorted(links))
        assert all(groups.members(name) == fresh.members(name) for name in names)
        assert groups.links() == tuple(sorted(links))
        if links and rng.random() < 0.3:
            gone = rng.sample(sorted(links), len(links) // 2)
            groups.apply([], gone)
            links -= set(gone)
