"""Aboutness: the keys of a passage, the index, and the directed links between passages."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from graphtide.graph.aboutness import title_keys
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.options.settings import PairSettings
from graphtide.graph.retrieval.scoring.about_links import LONGEST, PassageLinks, asked_names
from graphtide.graph.retrieval.scoring.candidates import gather
from graphtide.graph.retrieval.scoring.links import HUB
from graphtide.graph.retrieval.scoring.pair_scoring import WEIGHTING
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.text.place import Place
from graphtide.graph.view import LiveView
from tests.model.small_views import WORDS, SmallDocument, bag_of_words, random_documents, small_view
from tests.support.extractions import random_extraction, unit
from tests.support.seeds import seeds
from tests.support.worlds import RandomWorld, empty_view, snapshot_of

TITLES = ("", "Ada Lovelace", "Heat (film)", "Heat", "The Difference Engine", "London")


def titled_extraction(rng: random.Random, doc_id: str, revision: int) -> Extraction:
    """Return a random extraction whose title and headings are among few, so that passages share keys."""
    made = random_extraction(rng, doc_id, revision)
    headings = (rng.choice(TITLES),) if rng.random() < 0.5 else ()
    units = tuple(replace(each, place=Place(headings=headings)) for each in made.units)
    return replace(made, info=DocumentInfo(rng.choice(TITLES)), units=units)


def keys_by_passage(view: LiveView) -> Mapping[str, tuple[str, ...]]:
    return {chunk.chunk_id: view.about.keys(number) for number, chunk in view.chunks.items()}


def passages_by_key(view: LiveView) -> Mapping[str, set[str]]:
    keys = {key for number in view.chunks for key in view.about.keys(number)}
    found = {key: [number for each in view.about.passages([key]) for number in each] for key in keys}
    return {key: {view.chunks[number].chunk_id for number in numbers} for key, numbers in found.items()}


def links_by_name(view: LiveView) -> Mapping[str, tuple[Mapping[str, float], Mapping[str, float]]]:
    """Return the links from and to every passage, by chunk id."""
    links, name = PassageLinks(view), {number: chunk.chunk_id for number, chunk in view.chunks.items()}
    found = {}
    for number in view.chunks:
        both = (links.about(number), links.mentioning(number))
        found[name[number]] = tuple({name[other]: s for other, s in strengths.items()} for strengths in both)
    return found  # type: ignore[return-value]


@pytest.mark.parametrize("seed", seeds(2, 8))
def test_links_equal_those_of_a_view_filled_at_once_after_every_change(seed: int) -> None:
    """Inserts, edits, changed titles and deletions leave the index of a build from the live set, in another order."""
    print("seed", seed)
    rng = random.Random(seed)
    world, view = RandomWorld(rng), empty_view()
    for revision in range(1, 41):
        doc_id = f"d{rng.randint(1, 8)}"
        gone = doc_id in world.live and rng.random() < 0.35
        view.apply(world.change(doc_id if gone else titled_extraction(rng, doc_id, revision)))
        if revision % 4 == 0:
            fresh = empty_view()
            fresh.apply(snapshot_of(world.live))
            assert keys_by_passage(view) == keys_by_passage(fresh)
            assert passages_by_key(view) == passages_by_key(fresh)
            names = passages_by_key(view).keys()
            called = {
                n for n, row in view.entities.items() if names & {view.labels[label].name for label in row.labels}
            }
            assert set(view.about.called) == called
            assert links_by_name(view) == links_by_name(fresh)


def test_nothing_is_left_when_every_document_is_deleted() -> None:
    """The index holds no key of a deleted passage."""
    rng = random.Random(5)
    world, view = RandomWorld(rng), empty_view()
    for revision in range(1, 20):
        view.apply(world.change(titled_extraction(rng, f"d{revision % 6}", revision)))
    names = {key for number in view.chunks for key in view.about.keys(number)}
    numbers = list(view.chunks)
    view.apply(world.change(*sorted(world.live)))
    assert names
    assert not view.about.passages(names)
    assert not any(view.about.keys(number) for number in numbers)


def test_title_changes_links_when_the_text_stays() -> None:
    """A revision that changes the title alone moves the link, and the old key leads nowhere."""
    world, view = RandomWorld(random.Random(0)), empty_view()
    one = unit("Ada met Charles.", [("Ada", "person", ""), ("Charles", "person", "")], ())
    two = unit("He built an engine.", [("engine", "thing", "")], ())
    view.apply(
        world.change(
            Extraction("a", 1, DocumentInfo("Note"), (one,)), Extraction("b", 2, DocumentInfo("Charles"), (two,))
        )
    )
    a, b = (row.chunks[0] for row in (view.documents["a"], view.documents["b"]))
    assert PassageLinks(view).about(a) == {b: 1.0}
    assert PassageLinks(view).mentioning(b) == {a: 1.0}
    view.apply(world.change(Extraction("b", 3, DocumentInfo("Ada"), (two,))))
    assert not view.about.passages(["charles"])
    assert PassageLinks(view).about(a) == {view.documents["b"].chunks[0]: 1.0}


def test_commit_costs_its_own_passages_whatever_the_graph() -> None:
    """A delta changes the keys of its documents alone, in a graph of 20 documents and in one of 200."""
    for documents in (20, 200):
        world, view = RandomWorld(random.Random(1)), empty_view()
        rng = random.Random(2)
        view.apply(world.change(*(titled_extraction(rng, f"x{n}", n + 1) for n in range(documents))))
        view.apply(world.change(replace(titled_extraction(rng, "new", 1_000), info=DocumentInfo("Only here"))))
        mine = {key for number in view.documents["new"].chunks for key in view.about.keys(number)}
        assert "only here" in view.about.changed_keys <= mine


@pytest.mark.parametrize("count", [40, 400])
def test_candidates_are_bounded_whatever_the_graph(count: int) -> None:
    """Names, titles and links add a bounded number of passages where everything mentions, and is about, the same."""
    rng = random.Random(4)
    view = small_view(random_documents(rng, count))
    question = Question("amber grove and birch heron", bag_of_words("amber grove"))
    seeds = find_seeds(view, question.vector, None, PairSettings().near)
    pool = gather(view, question, seeds, personalised_pagerank(view.walk, restart(view, seeds)))
    assert pool is not None
    settings = PairSettings()
    assert len(pool.numbers) <= min(count, settings.near + settings.walked + settings.named + 2 * settings.injected)
    assert len(pool.firsts) <= WEIGHTING.firsts
    assert set(pool.expanded) <= set(pool.numbers)


@pytest.mark.parametrize(
    ("title", "keys"),
    [
        ("Heat (film)", {"heat (film)", "heat"}),
        ("  Ada  Lovelace ", {"ada lovelace"}),
        ("", set()),
        ("x" * 200, set()),
    ],
)
def test_title_is_a_key_with_and_without_its_qualifier(title: str, keys: set[str]) -> None:
    """The spelling is normalised as that of a label; a sentence is no key."""
    assert title_keys(title) == keys


def test_leading_subject_is_a_key_where_the_title_does_not_tell() -> None:
    """It is the subject of at least half of the statements, and not one that is stated once."""
    facts = (("pump", "feeds", "tank"), ("pump", "has", "valve"), ("valve", "of", "brass"))
    untitled = small_view([SmallDocument("a", "pump tank valve", ("pump",), facts)])
    assert untitled.about.keys(0) == ("pump",)
    titled = small_view([SmallDocument("a", "pump tank valve", ("pump",), facts, DocumentInfo("Manual"))])
    assert titled.about.keys(0) == ("manual",)
    assert small_view([SmallDocument("a", "pump", ("pump",), facts[:1])]).about.keys(0) == ()


def test_thing_that_many_passages_are_about_links_none() -> None:
    """Strength falls with the number of passages of one key, and is none beyond HUB."""
    for count, strength in ((1, 1.0), (2, 0.59), (HUB, 0.25), (HUB + 1, 0.0)):
        crowd = [SmallDocument(f"x{n:02d}", "fjord", (), (), DocumentInfo("Larch")) for n in range(count)]
        view = small_view([SmallDocument("a", "amber", ("larch",)), *crowd])
        links = PassageLinks(view).about(view.chunk_numbers["a#0"])
        assert list(links.values()) == pytest.approx([strength] * count if strength else [], abs=0.005)


@pytest.mark.parametrize(("mentioning", "strength"), [(1, 1.0), (HUB, 1.0), (2 * HUB, 0.59), (20 * HUB, 0.25)])
def test_link_by_a_thing_that_many_passages_mention_is_weak(mentioning: int, strength: float) -> None:
    """A passage about a country would continue every passage that mentions it; the name in a question still counts."""
    crowd = [SmallDocument(f"x{n:03d}", "fjord", ("larch",)) for n in range(mentioning)]
    view = small_view([*crowd, SmallDocument("z", "amber", (), (), DocumentInfo("Larch"))])
    links, target = PassageLinks(view), view.chunk_numbers["z#0"]
    assert links.about(view.chunk_numbers["x000#0"]) == {target: pytest.approx(strength, abs=0.005)}
    assert links.named(["larch"]) == {target: 1.0}


def test_names_are_read_from_a_question_with_its_punctuation() -> None:
    """A possessive, a question mark and quotation marks around a span do not hide the name."""
    names = asked_names("Who is the mother of \u201cHeat\u201d's director, Michael Mann?")
    assert {"heat", "director", "michael mann"} <= names
    assert not names & {"", "who", "of", "who is the"}
    assert "help!" in asked_names("Who wrote Help!?")


@pytest.mark.parametrize("seed", range(3))
def test_asked_names_are_the_spellings_of_all_spans(seed: int) -> None:
    """Punctuation at any place, function words, possessives and empty spans."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    parts = ("the", "of", "who", "it's", "ada's", "ada", "(film)", "heat", "help!?", "-", "don't", "a.b", "x,", "'s")
    function_words = {"the", "of", "who", "it"}
    for _ in range(50):
        question = " ".join(rng.choices(parts, k=rng.randrange(1, 16)))
        words = normalise(question).split(" ")
        expected = set[str]()
        for first in range(len(words)):
            for end in range(first + 1, min(first + LONGEST, len(words)) + 1):
                span = " ".join(words[first:end])
                bare = span.strip("?!\"'()[]{}.,;:-")
                expected |= {span.rstrip("?,;:.-"), bare, bare.removesuffix("'s")}
        names = {each for each in expected if each and not function_words.issuperset(each.split(" "))}
        assert asked_names(question) == names


def test_passage_about_a_named_thing_is_found_when_it_shares_no_word_with_the_question() -> None:
    """The chain goes from the named title to what that passage mentions; the filter applies to links, too."""
    rng = random.Random(3)
    noise = [SmallDocument(f"n{n:03d}", " ".join(rng.choices(WORDS, k=4)), ("cedar",)) for n in range(150)]
    chain = [
        SmallDocument("film", "ember fjord", ("grove",), (), DocumentInfo("Amber Birch", source="a")),
        SmallDocument("person", "inlet larch", ("heron",), (), DocumentInfo("grove", source="b")),
    ]
    view = small_view([*noise, *chain])
    question = Question("who leads amber birch", bag_of_words("cedar jetty"), 2, "local")
    assert [passage.doc_id for passage in retrieve(view, question).passages] == ["film", "person"]
    only = Filters(sources=("a",))
    found = retrieve(view, replace(question, filters=only, top_k=5, explain=True))
    assert [passage.doc_id for passage in found.passages] == ["film"]
    first = view.chunk_numbers["film#0"]
    assert PassageLinks(view, admitted_chunks(view, only)).about(first) == {}
