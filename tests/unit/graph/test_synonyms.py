"""The laws of synonyms: pairs found by vectors change the graph through a judge alone, whatever the order of events."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import differences
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.graph.resolution import LabelView, PairQuestion, Resolver
from graphtide.graph.resolution.synonyms.blocking import MAX_NEIGHBOURS, synonym_keys
from graphtide.graph.resolution.synonyms.scoring import assess_synonym
from tests.support.extractions import unit
from tests.support.judged_world import EVERYTHING, JudgedWorld, random_changes
from tests.support.seeds import seeds

MEANINGS = {
    "a road vehicle with an engine for few passengers": ("car", "automobile", "motorcar", "wagon"),
    "a person who treats ill people in a hospital": ("physician", "doctor", "medic", "surgeon"),
    "calculating machines that are rented by the hour": ("compute", "processors", "cluster", "servers"),
    "a long made up story that is printed": ("novel", "romance", "saga", "fiction"),
}
PREDICATES = ("needs", "replaces", "is near")


class World(JudgedWorld):
    """A world whose every verdict changes the graph: the writer asks about pairs of live labels alone."""

    def __init__(self) -> None:
        super().__init__(16)

    def answer(self, question: PairQuestion, same: bool) -> None:
        """See JudgedWorld.answer."""
        super().answer(question, same)
        assert self.verdicts[question.pair] == question.verdict(same)


def _document(rng: random.Random, doc_id: str, revision: int) -> Extraction:
    units = []
    for number in range(rng.randint(1, 2)):
        meanings = rng.sample(sorted(MEANINGS), 2)
        mentions = [(rng.choice(MEANINGS[meaning]), rng.choice(("", "", "thing")), meaning) for meaning in meanings]
        facts = [(0, rng.choice(PREDICATES), 1)] if rng.random() < 0.8 else []
        units.append(unit(f"Passage {doc_id} {number} {revision}.", mentions, facts))
    return Extraction(doc_id, revision, DocumentInfo(), tuple(units))


@pytest.mark.parametrize("seed", seeds(1, 6))
def test_graph_is_that_of_the_live_documents_when_a_judge_answers_at_any_time(seed: int) -> None:
    """After each step the rows are a rebuild's; when all is answered, those of the live documents in another order.

    The judge sees the contexts, so a verdict is replaced when they change. Its budget is small, so pairs wait; restarts
    lose none of them.
    """
    print(f"seed {seed}")
    rng, world, links = random.Random(seed), World(), 0
    for news in random_changes(rng, 24, _document):
        world.change(news)
        world.judge(rng.choice((0, 0, 1, 4)))
        if rng.random() < 0.2:
            rng.choice((world.restart, world.resume))()
        assert differences(world.view.rows(), world.rebuilt()) == ()
        links += sum(link.rule == "synonym" for link in world.view.same_as.values())
    assert links, "the walk was made to link synonyms"
    world.check_order(World(), rng)
    world.change(dict.fromkeys(world.live))
    assert not world.view.same_as and not world.view.entities and world.writer.borderline(9) == []


def test_similar_names_stay_two_entities_without_a_verdict() -> None:
    """Vectors propose and never merge: a writer with synonyms has the rows of one without, which asks nothing."""
    rng, world, plain = random.Random(1), World(), Consolidator("world")
    documents = {f"d{n}": _document(rng, f"d{n}", n) for n in range(1, 9)}
    world.change(dict(documents))
    delta = plain.apply([DocumentChange(d, None, documents[d]) for d in documents])
    assert differences(world.view.rows(), replace(delta, snapshot=True, communities=plain.hierarchy())) == ()
    questions = world.writer.borderline(EVERYTHING)
    assert any(question.contexts for question in questions)
    assert [question for question in plain.borderline(EVERYTHING) if question.contexts] == []


def test_merge_by_a_judge_ends_when_its_documents_are_deleted() -> None:
    """The link is shown with its rule and score, holds while both names are live, and a later verdict replaces it."""
    world, meaning = World(), next(iter(MEANINGS))
    for number, name in enumerate(("car", "automobile")):
        mentions = [(name, "", meaning), (f"Harbour {number}", "", "")]
        piece = unit(f"Passage {name}.", mentions, [(0, "is near", 1)])
        world.change({name: Extraction(name, 1, DocumentInfo(), (piece,))})
    (question,) = world.writer.borderline(9)
    assert question.pair == (("automobile", ""), ("car", ""))
    assert question.contexts == (("automobile is near harbour 1",), ("car is near harbour 0",))
    delta = world.writer.decide(question.pair, question.verdict(True))
    assert delta is not None and [(link.rule, link.score_milli > 0) for link in delta.same_as] == [("synonym", True)]
    world.follow(delta)
    assert world.writer.borderline(9) == []
    assert len(world.view.entities) == 3
    separate = world.writer.decide(question.pair, question.verdict(False))
    assert separate is not None and len(separate.gone.same_as) == 1
    world.follow(separate)
    joined = world.writer.decide(question.pair, question.verdict(True))
    assert joined is not None
    world.follow(joined)
    world.change({"car": None})
    assert not world.view.same_as and len(world.view.entities) == 2


def test_question_is_repeated_when_the_statements_about_a_name_change() -> None:
    """The earlier verdict applies until the new one arrives, so that no entity splits while a judge is unreachable."""
    world, meaning = World(), next(iter(MEANINGS))
    pieces = [unit(f"Passage {name}.", [(name, "", meaning)], []) for name in ("car", "automobile")]
    world.change({"d": Extraction("d", 1, DocumentInfo(), tuple(pieces))})
    (question,) = world.writer.borderline(9)
    world.verdicts[question.pair] = question.verdict(True)
    delta = world.writer.decide(question.pair, world.verdicts[question.pair])
    assert delta is not None
    world.follow(delta)
    later = unit("Passage later.", [("car", "", meaning), ("Harbour", "", "")], [(0, "is near", 1)])
    world.change({"e": Extraction("e", 2, DocumentInfo(), (later,))})
    assert [link.rule for link in world.view.same_as.values()] == ["synonym"]
    (again,) = world.writer.borderline(9)
    assert again.pair == question.pair and again.contexts != question.contexts
    world.restart()
    assert world.writer.borderline(9) == [again]
    world.change({"e": None})
    assert world.writer.borderline(9) == []


def test_candidates_equal_those_of_a_naive_count_when_labels_come_and_go() -> None:
    """A pair is proposed when a subtree with both has few labels, counted over the labels that are live now."""
    rng, resolver = random.Random(3), Resolver(synonyms=True)
    live: dict[int, LabelView] = {}
    for _ in range(25):
        changed: dict[int, LabelView | None] = {}
        for label in rng.sample(range(60), 4):
            changed[label] = None if label in live and rng.random() < 0.3 else _view(rng, label)
        resolver.update(changed)
        live |= {label: view for label, view in changed.items() if view is not None}
        live = {label: view for label, view in live.items() if changed.get(label, view) is not None}
        assert set(resolver.unchecked()) == _naive(live)
    assert resolver.unchecked()


def test_number_of_proposals_of_a_name_does_not_grow_with_the_graph() -> None:
    """Names of many small groups have as many proposals each in a graph four times as large."""
    per_name = []
    for names in (120, 480):
        rng, resolver = random.Random(5), Resolver(synonyms=True)
        resolver.update({label: _view(rng, label, groups=names // 5) for label in range(names)})
        per_name.append(len(resolver.unchecked()) / names)
    assert per_name[0] > 0.5, "names of a group are similar"
    assert per_name[1] < 2 * per_name[0]


def _view(rng: random.Random, label: int, groups: int = 6) -> LabelView:
    centre = np.random.default_rng(rng.randrange(groups)).standard_normal(32)
    vector = centre + 0.6 * np.random.default_rng(rng.randrange(1 << 30)).standard_normal(32)
    name = "".join("bcdfghjklm"[int(digit)] + "aeiou"[int(digit) % 5] for digit in f"{label:03}")
    return LabelView(name, "", (vector / np.linalg.norm(vector)).astype(np.float32))


def _naive(live: dict[int, LabelView]) -> set[tuple[int, int]]:
    keys = {label: set(synonym_keys(view)) for label, view in live.items()}
    sizes: dict[str, int] = {}
    for its in keys.values():
        for key in its:
            sizes[key] = sizes.get(key, 0) + 1
    return {
        (a, b)
        for a, b in combinations(sorted(live), 2)
        if any(sizes[key] <= MAX_NEIGHBOURS for key in keys[a] & keys[b])
        and assess_synonym(live[a], live[b]) is not None
    }
