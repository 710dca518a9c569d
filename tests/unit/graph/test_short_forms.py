"""Short and long forms of a name inside one graph: when they are one entity, why, and when they separate again."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from graphtide.graph.digest import canonical_lines, digest
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.resolution import LabelView, Resolver, blocking, normalise
from tests.model.graph_oracle import GraphOracle
from tests.model.short_forms_oracle import entities
from tests.support.extractions import unit
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

PERSONS = ["Ingrid Solheim", "Ingrid Halvorsen", "Ivar Solheim", "Bastian Kroll", "Yuki Tanabe"]
VOCABULARY: dict[str, str] = {
    **dict.fromkeys(PERSONS, "person"),
    **dict.fromkeys(["I. Solheim", "I. Halvorsen", "B. Kroll", "Y. Tanabe"], "person"),
    "Ingrid": "person",
    "Ivar": "person",
    "Bastian": "",
    "Yuki": "name",
    **dict.fromkeys(["INC-482", "Incident INC-482", "Ticket INC-482", "INC-481", "Incident INC-481"], ""),
    **dict.fromkeys(["NPI", "Norwegian Polar Institute", "Norwegian Polar Institute (NPI)"], "organisation"),
    "National Parcel Import (NPI)": "organisation",
}


def _view(name: str) -> LabelView:
    return LabelView(normalise(name), VOCABULARY[name], None)


def _clusters(resolver: Resolver, names: list[str], live: set[str]) -> set[frozenset[str]]:
    return {frozenset(names[label] for label in resolver.cluster_of(names.index(name))) for name in live}


@pytest.mark.parametrize(
    ("short", "full", "rule"),
    [
        ("Yuki", "Yuki Tanabe", "given name"),
        ("Bastian", "Bastian Kroll", "given name"),
        ("B. Kroll", "Bastian Kroll", "initials"),
        ("INC-482", "Incident INC-482", "code"),
        ("NPI", "Norwegian Polar Institute (NPI)", "acronym introduced in brackets"),
    ],
)
def test_short_form_is_its_full_form_and_the_link_names_the_rule(short: str, full: str, rule: str) -> None:
    """Two labels, no vectors, either order: one entity, with the rule as evidence; a deletion separates them."""
    for names in ((short, full), (full, short)):
        resolver = Resolver()
        for number, name in enumerate(names):
            resolver.update({number: _view(name)})
        assert resolver.cluster_of(0) == {0, 1}
        (link,) = resolver.links_of(0)
        assert link.rule == rule and link.holds
        resolver.update({names.index(full): None})
        assert resolver.cluster_of(names.index(short)) == {names.index(short)}


def test_first_name_that_fits_two_full_names_is_neither() -> None:
    """In every order of arrival the first name separates with the second person, and joins again without them."""
    names = ["Ingrid", "Ingrid Solheim", "Ingrid Halvorsen"]
    for order in permutations(range(3)):
        resolver = Resolver()
        for label in order:
            resolver.update({label: _view(names[label])})
        assert [resolver.cluster_of(label) for label in range(3)] == [{0}, {1}, {2}]
        overruled = resolver.evidence(0, 1)
        assert overruled is not None and overruled.rule == "given name" and not overruled.holds
        resolver.update({2: None})
        assert resolver.cluster_of(0) == {0, 1}


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("rose", "Rose Tyler", "term"),
        ("mark", "Mark Hollis", ""),
        ("Florence", "Florence Foster", "place"),
        ("Ingrid", "Ingrid Lane", "place"),
        ("GPT-3", "GPT-3 paper", ""),
        ("482", "Incident 482", ""),
        ("INC-482", "North INC-482", ""),
        ("INC-482", "INC-482 review", ""),
        ("INC-482", "INC-481", ""),
    ],
)
def test_look_alikes_stay_apart(a: str, b: str, kind: str) -> None:
    """A common word is no person, a place is no person, and a code is no part of another thing's name."""
    resolver = Resolver()
    other = "person" if kind in ("term", "") and b.istitle() and " " in b else ""
    resolver.update({0: LabelView(normalise(a), kind, None), 1: LabelView(normalise(b), other, None)})
    assert resolver.cluster_of(0) == {0}


@pytest.mark.parametrize("seed", range(6))
def test_short_forms_equal_the_oracle_at_every_step(seed: int) -> None:
    """Labels come and go at random; after each step the clusters are those that the live spellings alone define."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    names = sorted(VOCABULARY)
    resolver, live = Resolver(), set[str]()
    for _ in range(150):
        chosen = rng.sample(names, rng.randint(1, 3))
        resolver.update({names.index(name): None if name in live else _view(name) for name in chosen})
        live ^= set(chosen)
        assert _clusters(resolver, names, live) == entities(live)


def test_a_crowd_of_full_names_closes_the_block_and_opens_it_again() -> None:
    """More full names than a block holds propose no pair; deletions bring the pairs back. The cost stays bounded."""
    family = [first + second * 3 for first in "bdfgklmp" for second in "aeiouyar"]
    crowd = {number: LabelView(f"ingrid {name}", "person", None) for number, name in enumerate(family[:59], 1)}
    resolver = Resolver()
    resolver.update({0: _view("Ingrid"), **crowd})
    assert resolver.cluster_of(0) == {0} and resolver.evidence(0, 1) is None
    resolver.update({number: None for number in crowd if number != 7})
    assert resolver.cluster_of(0) == {0, 7}
    assert len(crowd) > blocking.MAX_BLOCK


def _document(rng: random.Random, doc_id: str, revision: int) -> Extraction:
    mentions = [(name, VOCABULARY[name], "") for name in rng.sample(sorted(VOCABULARY), rng.randint(1, 4))]
    facts = [(0, "met", place) for place in range(1, len(mentions))]
    return Extraction(
        doc_id, revision, DocumentInfo("Notes", "", "", ()), (unit(f"Text {revision}.", mentions, facts),)
    )


@pytest.mark.parametrize("seed", range(3))
def test_graph_with_short_forms_is_a_function_of_the_live_documents(seed: int) -> None:
    """Inserts, edits and deletions that join and split short forms: at each step the digest of a build from nothing."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for revision in range(1, 31):
        doc_id = f"d{rng.randint(1, 7)}"
        gone = doc_id in world.live and rng.random() < 0.4
        view.apply(world.change(doc_id if gone else _document(rng, doc_id, revision)))
        assert sorted(canonical_lines(view.rows())) == GraphOracle(world.live.values()).lines()
    rebuilt = empty_view()
    rebuilt.apply(snapshot_of(world.live))
    assert digest(view.rows()) == digest(rebuilt.rows())
