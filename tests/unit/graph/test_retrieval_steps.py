"""The steps of retrieval, each alone, compared with the plainest form of its definition."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from numpy.typing import NDArray

from graphtide.graph.retrieval.filters import same_json
from graphtide.graph.retrieval.scoring import terms
from graphtide.graph.retrieval.scoring.about_links import PassageLinks
from graphtide.graph.retrieval.scoring.links import HUB, linked_passages
from graphtide.graph.retrieval.scoring.mmr import mmr
from graphtide.graph.retrieval.scoring.pair_reranking import SetCoverage, better_ranks
from graphtide.graph.retrieval.scoring.pair_scoring import (
    Candidates,
    Links,
    Weighting,
    first_next_scores,
    inclusion,
    next_scores,
    next_terms,
    reach,
    row_shares,
    shares,
    unary_scores,
)
from graphtide.graph.retrieval.search.ppr import RESTART, personalised_pagerank
from graphtide.graph.retrieval.search.walk_mass import WalkMass
from graphtide.graph.retrieval.seeds import Hit, by_name, find_seeds, restart
from graphtide.graph.retrieval.types import Question
from graphtide.graph.text.dates import DateRange
from tests.model.retrieval_oracle import exact_pagerank, slow_restart
from tests.model.small_views import SmallDocument, bag_of_words, random_documents, small_view


def unit_vectors(rng: np.random.Generator, count: int, dimensions: int = 6) -> NDArray[np.float32]:
    vectors = rng.normal(size=(count, dimensions))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.parametrize("seed", range(5))
def test_mmr_takes_the_best_by_its_formula_at_every_place(seed: int) -> None:
    """Each rank goes to the argmax of Carbonell and Goldstein's formula over the remaining passages."""
    print("seed", seed)
    rng = np.random.default_rng(seed)
    vectors, relevance, trade_off = unit_vectors(rng, 30), rng.random(30), 0.6
    left, taken = set(range(30)), list[int]()
    for _ in range(12):
        value = {
            n: trade_off * relevance[n]
            - (1 - trade_off) * max((float(vectors[n].astype(float) @ vectors[m]) for m in taken), default=0.0)
            for n in left
        }
        taken.append(max(value, key=lambda n: value[n]))
        left.discard(taken[-1])
    assert mmr(relevance, vectors, 12, trade_off).tolist() == taken


def test_mmr_is_plain_order_when_only_relevance_counts() -> None:
    """A trade-off of 1 sorts, with equal values in the order they were given."""
    vectors = unit_vectors(np.random.default_rng(0), 4)
    assert mmr(np.array([0.5, 0.9, 0.5, 0.1]), vectors, 9, 1.0).tolist() == [1, 0, 2, 3]


def test_mmr_passes_over_a_repetition_for_something_new() -> None:
    """When two passages are equal and a less relevant one differs, the second equal one comes last."""
    vectors = np.array([[1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert mmr(np.array([1.0, 0.9, 0.6]), vectors, 3, 0.5).tolist() == [0, 2, 1]


def random_candidates(seed: int, count: int) -> Candidates:
    rng = np.random.default_rng(seed)
    contained = rng.random((count, 5)) < 0.4
    cosine = rng.uniform(-0.1, 0.8, count)
    walked = rng.choice([0.0, 1e-9, 1e-4, 0.01, 0.3], count)
    named = rng.choice([0.0, 0.0, 0.59, 1.0], count)
    scale = (float(np.median(cosine)), float(cosine.max()))
    return Candidates(cosine, walked, named, unit_vectors(rng, count), contained, terms.weights(contained), scale)


@pytest.mark.parametrize("chosen", [(3,), (3, 7, 11)])
@pytest.mark.parametrize("seed", range(5))
def test_next_passage_scores_as_its_definition_in_scalars(seed: int, chosen: tuple[int, ...]) -> None:
    """The score is its own worth, plus both links beyond their means, plus the words that no chosen passage has."""
    print("seed", seed)
    weighting, rng = Weighting(), np.random.default_rng(seed)
    candidates, links = random_candidates(seed, 20), Links(rng.random(20), rng.random(20))
    mean = Links.mean([links, Links(rng.random(20), rng.random(20))])
    second = unary_scores(candidates, weighting.second)
    scores = next_scores(candidates, second, chosen, links, mean, weighting)
    assert (scores[list(chosen)] == -np.inf).all()
    lowest, highest = candidates.scale
    for other in set(range(20)) - set(chosen):
        words = sum(
            weight
            for word, weight in enumerate(candidates.words)
            if candidates.contained[other, word] and not any(candidates.contained[one, word] for one in chosen)
        )
        own = weighting.second
        expected = own.nearness * (candidates.cosine[other] - lowest) / max(highest - lowest, 0.1)
        expected += own.walk * reach(candidates.walk)[other] + own.named * candidates.named[other]
        expected += weighting.bridge * (links.bridges[other] - mean.bridges[other])
        expected += weighting.about * (links.about[other] - mean.about[other])
        assert scores[other] == pytest.approx(expected + weighting.coverage * words, abs=1e-9)
    added = sum(part for _, part in next_terms(candidates, chosen, links, mean, weighting))
    assert np.delete(added, chosen) == pytest.approx(np.delete(scores, chosen))


@pytest.mark.parametrize("seed", range(20))
def test_scores_after_each_first_are_those_after_it_alone_to_the_same_bits(seed: int) -> None:
    """All are computed together, and equal passages must keep equal scores."""
    print("seed", seed)
    weighting, rng = Weighting(), np.random.default_rng(seed)
    count = int(rng.integers(1, 150))
    candidates = random_candidates(seed, count)
    firsts = np.sort(rng.choice(count, int(rng.integers(0, min(count, 25) + 1)), replace=False))
    links = [Links(rng.random(count), rng.random(count)) for _ in firsts]
    mean = Links.mean([*links, Links(rng.random(count), rng.random(count))])
    second = unary_scores(candidates, weighting.second)
    together = first_next_scores(candidates, second, firsts, links, mean, weighting)
    assert together.shape == (len(firsts), count)
    for row, first, link in zip(together, firsts.tolist(), links, strict=True):
        assert np.array_equal(row, next_scores(candidates, second, (first,), link, mean, weighting))


@pytest.mark.parametrize("seed", range(20))
def test_shares_of_rows_are_those_of_each_row_to_the_same_bits(seed: int) -> None:
    print("seed", seed)
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 5, (int(rng.integers(0, 22)), int(rng.integers(1, 200))))
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[rng.random(len(scores)) < 0.2] = -np.inf
    found = row_shares(scores, 0.4)
    assert found.shape == scores.shape
    for row, expected in zip(found, scores, strict=True):
        assert np.array_equal(row, shares(expected, 0.4))


def test_passage_takes_the_best_of_its_ranks_and_equal_ranks_are_of_the_later_ranking() -> None:
    """The choice comes before what continues it, this before what continues the opening, and the pairs come last."""
    coverage = SetCoverage([0, 1, 5], ([0, 1, 4, 2, 3, 5], [0, 1, 5, 3, 2, 4]))
    assert better_ranks([0, 1, 2, 3, 4, 5], coverage) == [0, 1, 5, 4, 2, 3]
    assert better_ranks([2, 0, 1], SetCoverage([], ())) == [2, 0, 1]


def test_inclusion_is_the_expected_number_of_places_in_a_pair() -> None:
    """This is computed by hand: the first is drawn by e to 1, the second of each by e to 1."""
    logs = inclusion(np.array([1.0, 0.0]), np.array([[-np.inf, 1.0], [0.0, -np.inf]]), np.array([0, 1]), 1.0)
    assert np.exp(logs) == pytest.approx([1.0, 1.0], abs=1e-5)
    alone = inclusion(np.array([1.0, 0.0, 0.0]), np.array([[-np.inf, 1.0, 0.0]]), np.array([0]), 1.0)
    drawn = math.e / (math.e + 2)
    assert np.exp(alone) == pytest.approx(
        [drawn, 1 / (math.e + 2) + drawn * math.e / (math.e + 1), 1 / (math.e + 2) + drawn / (math.e + 1)], abs=1e-5
    )


def test_inclusion_is_all_when_a_passage_stands_alone() -> None:
    """Without any pair only the passage's own share counts."""
    assert inclusion(np.array([0.7]), np.array([[-np.inf]]), np.array([0]), 0.1).tolist() == pytest.approx(
        [0.0], abs=1e-5
    )


def test_reach_spans_three_decades_below_the_best() -> None:
    """It is the logarithm of the mass scaled from 1 down to 0, and 0 for nodes that the walk did not reach."""
    masses = np.array([0.1, 0.1 / 10**1.5, 1e-4, 1e-6, 0.0])
    assert reach(masses) == pytest.approx([1.0, 0.5, 0.0, 0.0, 0.0])
    assert reach(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_words_are_matched_whole_and_weighed_by_rarity() -> None:
    """Case and compatibility forms do not matter; a word in no passage is left out; the rarest weighs most."""
    asked, contained = terms.occurrences("When did the ﬁrst STATE end?", ["the first state", "The states", "the end"])
    assert asked == ["end", "first", "state", "the"]
    assert contained.astype(int).tolist() == [[0, 1, 1, 1], [0, 0, 0, 1], [1, 0, 0, 1]]
    weight = dict(zip(asked, terms.weights(contained), strict=True))
    assert sum(weight.values()) == pytest.approx(1)
    assert weight["end"] == weight["first"] > weight["the"]
    ratio = (math.log(1 + 2.5 / 1.5) / math.log(1 + 0.5 / 3.5)) ** 2
    assert weight["end"] / weight["the"] == pytest.approx(ratio)


@pytest.mark.parametrize(("question", "texts"), [("?!", ["amber"]), ("amber", []), ("amber", ["birch"])])
def test_words_are_none_when_nothing_is_shared(question: str, texts: list[str]) -> None:
    """Without words, texts, or shared words the table is empty and has no weights."""
    asked, contained = terms.occurrences(question, texts)
    assert (asked, contained.shape, terms.weights(contained).shape) == ([], (len(texts), 0), (0,))


@pytest.mark.parametrize("seed", range(4))
def test_words_are_found_where_taking_the_text_apart_finds_them(seed: int) -> None:
    """A word is found next to any mark, at both ends, inside longer words, in any script."""
    print("seed", seed)
    rng = random.Random(seed)
    letters = "aaAbzZé_19ßΣÉ中ﬁ İ́ .-'@[`{/:\x00\x7f\n\ud800\u2013\u2019\u2026½\xb4ªµ\u017f\u041a\u0441\xa0\u05b0"
    texts = ["".join(rng.choices(letters, k=rng.randint(0, 25))) for _ in range(300)]
    question = "".join(rng.choices(letters, k=40))
    asked, contained = terms.occurrences(question, texts)
    assert asked
    apart = [set(terms.words(text)) for text in texts]
    assert contained.tolist() == [[word in words for word in asked] for words in apart]
    assert set(asked) == set(terms.words(question)) & set().union(*apart)


@pytest.mark.parametrize("seed", range(4))
def test_words_of_any_alphabet_are_found_where_taking_the_text_apart_finds_them(seed: int) -> None:
    """Each character of the first blocks of Unicode, beside any other one."""
    print("seed", seed)
    rng = random.Random(seed)
    codes = [*range(0x20, 0x600), *range(0x1E00, 0x2100)]
    texts = ["".join(map(chr, rng.choices(codes, k=8))) for _ in range(3_000)]
    question = " ".join(texts)
    asked, contained = terms.occurrences(question, texts)
    place = {word: column for column, word in enumerate(asked)}
    for text, row in zip(texts, contained, strict=True):
        assert {asked[column] for column in np.flatnonzero(row)} == place.keys() & set(terms.words(text)), ascii(text)


@pytest.mark.parametrize("seed", range(4))
def test_restart_and_walk_equal_their_definitions_on_random_graphs(seed: int) -> None:
    """The restart distribution is equal, and the stationary mass is within the error of the push."""
    print("seed", seed)
    documents = random_documents(random.Random(seed), 60)
    view = small_view(documents)
    question = Question("x", bag_of_words(f"{documents[0].entities[0]} near"))
    start = restart(view, find_seeds(view, question.vector, None, 100))
    assert sum(start.values()) == pytest.approx(1)
    assert start == pytest.approx(slow_restart(view, question), abs=1e-6)
    exact = exact_pagerank(view, start, RESTART)
    assert personalised_pagerank(view.walk, start) == pytest.approx(exact, abs=1e-4)


def test_mass_of_many_nodes_is_that_of_each() -> None:
    """Nodes that the walk did not reach have none, whatever the order in which they are asked for."""
    rng = np.random.default_rng(5)
    for count in (0, 1, 40):
        mass = WalkMass(rng.permutation(90)[:count].astype(np.int32), np.sort(rng.random(count))[::-1])
        asked = rng.permutation(100).astype(np.int32)
        assert mass.of(asked).tolist() == [mass.get(node, 0.0) for node in asked.tolist()]
        odd = mass.only(mass.nodes % 2 == 1)
        assert dict(odd) == {node: share for node, share in mass.items() if node % 2}


def test_walk_from_nowhere_goes_nowhere() -> None:
    """Without a seed the walk has no mass."""
    assert personalised_pagerank(small_view([]).walk, {}) == {}


def test_hits_are_by_similarity_and_equal_ones_by_name() -> None:
    """An index returns equal ones by number."""
    hits = [Hit(7, "d", 0.9), Hit(2, "c", 0.5), Hit(3, "b", 0.5), Hit(1, "a", 0.4)]
    assert by_name(hits) == (hits[0], hits[2], hits[1], hits[3])
    assert by_name(hits[1:2]) == (hits[1],)
    assert by_name([]) == ()


def test_bridge_is_the_rarest_entity_that_two_passages_share() -> None:
    """Its strength decreases with the number of passages that mention it, and a hub connects nothing."""
    crowd = [SmallDocument(f"x{n:02d}", "fjord", ("hub",)) for n in range(HUB)]
    view = small_view(
        [
            SmallDocument("a", "amber", ("rare", "common", "hub")),
            SmallDocument("b", "birch", ("rare", "common", "hub")),
            SmallDocument("c", "cedar", ("common", "hub")),
            *crowd,
        ]
    )
    led_to = {
        view.chunks[n].doc_id: strength
        for n, strength in linked_passages(view, view.chunk_numbers["a#0"], None).items()
    }
    assert led_to == pytest.approx({"b": 1 / (1 + math.log(2)), "c": 1 / (1 + math.log(3))})


@pytest.mark.parametrize("seed", range(4))
def test_links_between_many_passages_are_those_of_each(seed: int) -> None:
    """The strengths read from the walk graph equal those from the tables, with hubs and entities of one passage."""
    print("seed", seed)
    rng = random.Random(seed)
    names = [f"e{number}" for number in range(60)]
    made = [SmallDocument(f"d{n:03d}", "amber", (*rng.sample(names, 3), *rng.sample(names[:3], 1))) for n in range(90)]
    view = small_view(made)
    asked, others = rng.sample(sorted(view.chunks), 20), rng.sample(sorted(view.chunks), 50)
    each = [linked_passages(view, number, None) for number in asked]
    expected = [[links.get(other, 0.0) for other in others] for links in each]
    assert PassageLinks(view).shared(asked, others).tolist() == expected


@pytest.mark.parametrize(
    ("moment", "earliest", "latest", "inside"),
    [
        ("2021-06-01", "", "", True),
        ("", "", "", True),
        ("", "2020", "", False),
        ("2021-06-01", "2021", "2021", True),
        ("2021-12-31T23:59:59Z", "", "2021-12-31", True),
        ("2021-06-01", "2021-06-01", "", True),
        ("2021-06-01", "2021-06-02", "", False),
        ("2021-06-01", "", "2021-05", False),
        ("2021", "2021-06", "", False),
        ("2021", "", "2021-05", False),
        ("2021", "2021-01-01", "2021-12-31", True),
        ("2020-02-29", "", "2020-02", True),
        ("2021-12-31T23:30:00-05:00", "", "2021", False),
        ("2022-01-01T01:30:00+02:00", "2021-12-31", "2021-12-31", True),
        ("2021-06-01T12:00:00Z", "2021-06-01T14:00:00+02:00", "2021-06-01T14:00:00+02:00", True),
        ("2021-06-01 12:00:30.5", "2021-06-01T12:00:30", "2021-06-01T12:00", True),
        ("2021-06-01T12:01", "", "2021-06-01T12:00", False),
        ("9999-12-31T23:59:59.999999-14:00", "9999", "", True),
        ("9999-12-31", "0001-01-01T00:00+14:00", "9999", True),
        ("once upon a time", "0001", "", False),
        ("2021-02-30", "0001", "", False),
    ],
)
def test_range_holds_what_lies_in_it_whole_whatever_the_precision_and_zone(
    moment: str, earliest: str, latest: str, inside: bool
) -> None:
    """A date counts as within the range when its whole span is."""
    assert DateRange.between(earliest, latest).holds(moment) is inside


def test_range_refuses_a_bound_that_is_no_date() -> None:
    """A question with such a bound is an error, not an empty answer."""
    with pytest.raises(ValueError, match="'soon' is not an ISO date"):
        DateRange.between("2021", "soon")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (100, 1e2, True),
        (2**53 + 1, float(2**53), False),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (None, None, True),
        (None, False, False),
        ("1", 1, False),
        ([1, [2.0]], [1.0, [2]], True),
        ([1, True], [1, 1], False),
        ([1], [1, 1], False),
        ({"a": 1, "b": {"c": 2.0}}, {"b": {"c": 2}, "a": 1.0}, True),
        ({"a": 1}, {"a": 1, "b": None}, False),
        ([], {}, False),
    ],
)
def test_metadata_is_equal_when_the_json_values_are(one: object, other: object, same: bool) -> None:
    """Numbers are compared by value, and a boolean equals only a boolean."""
    assert same_json(one, other) is same
    assert same_json(other, one) is same
