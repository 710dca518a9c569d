"""Contradictions and time: claims compared with a walk through the days, and the laws on live graphs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import ChunkContribution, DocumentChange, DocumentInfo, Extraction
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Filters, Question
from graphtide.graph.text.dates import DateSpan, date_span
from graphtide.graph.validity.intervals import ValidityInterval, ValidityReader
from graphtide.graph.validity.predicates import (
    DEFAULT,
    FunctionalPredicate,
    FunctionalPredicates,
    normal,
    parse_families,
)
from graphtide.graph.validity.timeline import Claim, resolve_claims
from graphtide.graph.view import LiveView
from graphtide.streams.messages import unit_key
from tests.model.validity_oracle import DAY_US, over_on
from tests.support.extractions import unit, vector
from tests.support.worlds import empty_view

TODAY = 730_000


def day_span(first: int, days: int) -> DateSpan:
    return DateSpan((TODAY + first) * DAY_US, (TODAY + first + days) * DAY_US)


spans = st.builds(day_span, st.integers(0, 40), st.sampled_from([1, 5, 20]))
claims = st.builds(
    Claim,
    st.sampled_from("abc"),
    st.sampled_from(["d1", "d2", "d3"]),
    st.integers(1, 9),
    st.one_of(st.none(), spans),
    st.one_of(st.none(), st.none(), spans),
)


@given(st.lists(claims, max_size=8))
def test_claims_are_over_on_the_days_that_a_walk_through_the_days_finds(rivals: list[Claim]) -> None:
    """On every day the rule and the definition agree about each claim."""
    for claim, found in zip(rivals, resolve_claims(rivals), strict=True):
        for day in range(-1, 70):
            at = (TODAY + day) * DAY_US
            ended = found.ended is not None and found.ended.at is not None and found.ended.at <= at
            over = ended or (claim.ends is not None and claim.ends.end <= at)
            assert over == over_on(claim, rivals, at)


@given(st.lists(claims, max_size=8), st.randoms(use_true_random=False), st.booleans())
def test_claims_stand_the_same_in_whatever_order_they_came(
    rivals: list[Claim], rng: random.Random, by_arrival: bool
) -> None:
    """The status of a claim depends on the set of claims alone."""
    order = list(range(len(rivals)))
    rng.shuffle(order)
    one = resolve_claims(rivals, by_arrival)
    other = resolve_claims([rivals[place] for place in order], by_arrival)
    assert [one[place] for place in order] == other


def test_undated_claim_is_ended_by_arrival_only_where_that_is_asked_for() -> None:
    """Publication order is no date, unless the settings make it count as one."""
    first, second = Claim("a", "d1", 1), Claim("b", "d2", 2)
    assert [one.ended for one in resolve_claims([first, second])] == [None, None]
    ended = resolve_claims([first, second], by_arrival=True)
    assert (ended[0].ended is not None, ended[1].ended) == (True, None)


def test_claim_of_a_year_is_not_ended_by_one_of_a_month_in_it() -> None:
    """The order of the two claims is unknown."""
    year, month = date_span("1961"), date_span("1961-03")
    assert [one.ended for one in resolve_claims([Claim("a", "d", 1, year), Claim("b", "e", 2, month)])] == [None, None]


@pytest.mark.parametrize(
    ("predicate", "family"),
    [
        ("is the CEO of", "chief executive"),
        ("is currently chief executive of", "chief executive"),
        ("was mayor of", None),
        ("vice president of", None),
        ("has its headquarters in", "headquarters"),
        ("located in", None),
    ],
)
def test_predicate_belongs_to_a_family_only_in_its_present_form(predicate: str, family: str | None) -> None:
    """Articles and auxiliary verbs do not matter; the past tense and mere similarity do."""
    found = DEFAULT.family(predicate)
    assert (found.name if found else None) == family


def test_families_of_a_file_are_checked() -> None:
    """A family without an end, without predicates or with another's predicate is named."""
    good = parse_families({"boss": {"one": "subject", "predicates": ["is boss of"]}, "by_arrival": True})
    assert good.by_arrival
    assert good.family("boss of") == FunctionalPredicate("boss", "subject", frozenset({"is boss of"}))
    for bad in ({"x": {"one": "both", "predicates": ["p"]}}, {"x": {"one": "object"}}, {"x": 3}, {"by_arrival": 1}):
        with pytest.raises(ValueError, match=r"needs one|by_arrival"):
            parse_families(bad)
    with pytest.raises(ValueError, match="in the families"):
        FunctionalPredicates(
            (
                FunctionalPredicate("a", "object", frozenset({"p"})),
                FunctionalPredicate("b", "object", frozenset({"is p"})),
            )
        )
    assert normal("Is  The_boss of") == "boss of"


def statement(
    doc_id: str, revision: int, fact: tuple[str, str, str], when: str = "", since: str = "", till: str = ""
) -> Extraction:
    """Return a document of one passage that states one fact."""
    subject, predicate, object_ = fact
    text = f"{subject} {predicate} {object_}. ({doc_id})"
    one = unit(text, [(subject, "", ""), (object_, "", "")], [(0, predicate, 1)])
    facts = tuple(replace(each, valid_from=since, valid_to=till) for each in one.facts)
    key = unit_key(text, one.vector, one.mentions, facts)
    whole = ChunkContribution(key, text, 0, len(text), one.vector, one.mentions, facts)
    return Extraction(doc_id, revision, DocumentInfo(doc_id, "", when, ()), (whole,))


def view_of(documents: Sequence[Extraction], gone: Sequence[Extraction] = ()) -> LiveView:
    """Return a view of the documents, in the order given; `gone` are inserted first and deleted last."""
    writer, view = Consolidator("g"), empty_view()
    steps = [DocumentChange(one.doc_id, None, one) for one in (*gone, *documents)]
    steps += [DocumentChange(one.doc_id, one, None) for one in gone]
    for step in steps:
        view.apply(writer.apply([step]))
    return view


def times(view: LiveView, as_of: str = "") -> dict[str, ValidityInterval]:
    """Return the validity interval of each document's fact."""
    validity = ValidityReader(view, as_of)
    return {
        chunk.doc_id: validity.of_support(row)
        for chunk in view.chunks.values()
        for row in chunk.evidence
        if validity.in_force(row)
    }


LENA = statement("old", 1, ("Lena Abara", "is chief executive of", "Kittiwake"), when="2018-04")
KENJI = statement("new", 2, ("Kenji Watanabe", "is the CEO of", "Kittiwake"), when="2021-09-01")
OTHER = statement("other", 3, ("Rosa Delgado", "is CEO of", "Meridian"), when="2022")


def test_later_document_ends_the_earlier_one_and_says_so() -> None:
    """The earlier relation names the document that ended it, the time, and the new value; the later one is valid."""
    found = times(view_of([LENA, KENJI, OTHER]))
    assert found["old"] == ValidityInterval("", "2021-09-01", ("new", 2), "Kenji Watanabe")
    assert found["new"] == found["other"] == ValidityInterval()


def test_earlier_relation_stands_again_when_the_later_document_goes() -> None:
    """When a document is deleted, the claims that it ended are valid again."""
    assert times(view_of([LENA, OTHER], gone=[KENJI])) == {"old": ValidityInterval(), "other": ValidityInterval()}


@pytest.mark.parametrize(
    ("as_of", "holds"),
    [("2017", {"old"}), ("2019", {"old"}), ("2021", {"old", "new"}), ("2021-08", {"old"}), ("2022-01-01", {"new"})],
)
def test_question_as_of_a_moment_sees_what_held_then(as_of: str, holds: set[str]) -> None:
    """Two successive values are each valid in their time, and both in the year of the change."""
    assert set(times(view_of([LENA, KENJI]), as_of)) == holds


def test_explicit_times_count_before_the_date_of_the_document() -> None:
    """A document of 2022 that states "from 2015 to 2017" describes that time."""
    past = statement("past", 4, ("Viktor Hale", "is CEO of", "Kittiwake"), when="2022", since="2015", till="2017")
    view = view_of([LENA, KENJI, past])
    assert set(times(view, "2016")) == {"past"}
    assert times(view)["past"].ended_by is None
    assert set(times(view, "2014")) == set()


def test_relation_of_many_values_is_never_ended() -> None:
    """An undeclared predicate admits any number of objects."""
    facts = [statement(f"d{n}", n, ("Lena", "visited", f"Place {n}"), when=f"20{10 + n}") for n in range(1, 5)]
    assert set(times(view_of(facts)).values()) == {ValidityInterval()}


def test_spellings_of_one_entity_do_not_contradict_each_other() -> None:
    """Values are compared by entity, not by spelling."""
    again = statement("again", 2, ("lena abara", "is CEO of", "kittiwake"), when="2021")
    assert set(times(view_of([LENA, again])).values()) == {ValidityInterval()}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_times_depend_on_the_live_documents_alone(seed: int) -> None:
    """The times and the digest are the same for any order of arrival and any intermediate documents."""
    print("seed", seed)
    rng = random.Random(seed)
    people, places = [f"Person {n}" for n in "ABCD"], ["Kittiwake", "Meridian"]
    documents = [
        statement(
            f"d{n}",
            n,
            (rng.choice(people), rng.choice(["is CEO of", "is the chief executive of"]), rng.choice(places)),
            when=rng.choice(["", "2018", "2019-05", "2020", "2021-03-01"]),
            since=rng.choice(["", "", "2016", "2019"]),
            till=rng.choice(["", "", "2020"]),
        )
        for n in range(12)
    ]
    kept, gone = documents[:8], documents[8:]
    one = view_of(kept)
    other = view_of(rng.sample(kept, len(kept)), gone)
    assert digest(one.rows()) == digest(other.rows())
    for as_of in ("", "2015", "2018", "2019-06", "2020", "2022"):
        assert times(one, as_of) == times(other, as_of)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_every_mode_leaves_out_what_did_not_hold(mode: str) -> None:
    """As of 2019 no mode returns the passage or the relation of 2021, and without a moment it shows what ended."""
    text = "chief executive CEO of Kittiwake"
    question = Question(text, vector(text).astype(np.float32), mode=mode, filters=Filters(as_of="2019"))
    view = view_of([LENA, KENJI, OTHER])
    then = retrieve(view, question)
    assert "new" not in {passage.doc_id for passage in then.passages}
    assert "Kenji Watanabe" not in {view.entities[view.entity_nodes[edge.source]].name for edge in then.subgraph.edges}
    now = retrieve(view, replace(question, filters=Filters()))
    ended = {edge.ended_by for edge in now.subgraph.edges if edge.superseding_value == "Kenji Watanabe"}
    assert ended <= {"new"}
    if any(passage.doc_id == "old" for passage in now.passages) and now.subgraph.edges:
        assert ended == {"new"}


def test_moment_that_is_no_date_is_refused() -> None:
    """The message shows the format of a date."""
    with pytest.raises(ValueError, match="2019-05-31"):
        ValidityReader(view_of([LENA]), "yesterday")
