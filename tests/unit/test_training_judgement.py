"""The judgement of chosen units, and the shares of questions that it gives."""

from __future__ import annotations

import pytest

from tests.training.contexts import Labels
from tests.training.corpus import CorpusPart
from tests.training.cross_validate import SERVICE, Outcome, folds_of, table
from tests.training.judgement import WITH_OTHERS, Judgement, judged, shares

TWO_HOPS = Labels("two-hop", gold=[[1], [4, 5]], also=[[7]])
LIST = Labels("list", gold=[[1], [2, 3], []], also=[])
NOTHING = Labels("unanswerable", gold=[], also=[])


@pytest.mark.parametrize(
    ("labels", "chosen", "worth"),
    [
        (TWO_HOPS, {4}, 1.0),
        (TWO_HOPS, {7}, 1.0),
        (TWO_HOPS, {1, 5}, 1.0),
        (TWO_HOPS, {1}, 0.0),
        (TWO_HOPS, {4, 9}, WITH_OTHERS),
        (TWO_HOPS, {9}, 0.0),
        (LIST, {1, 3}, 1.0),
        (LIST, {1}, 0.0),
        (LIST, {1, 2, 9}, WITH_OTHERS),
        (NOTHING, {1}, 0.0),
    ],
)
def test_an_answer_is_worth_what_its_units_state(labels: Labels, chosen: set[int], worth: float) -> None:
    """A step of two does not answer alone; a list needs each part that some unit states."""
    assert judged(labels, chosen) == Judgement(worth, answerable=bool(labels.gold), refused=False)


def test_a_refusal_is_right_where_nothing_answers() -> None:
    assert judged(NOTHING, ()) == Judgement(1.0, answerable=False, refused=True)
    assert judged(LIST, ()) == Judgement(0.0, answerable=True, refused=True)


def test_shares_are_of_the_questions_that_they_name() -> None:
    judgements = [judged(TWO_HOPS, {4}), judged(TWO_HOPS, {4, 9}), judged(LIST, ()), judged(LIST, {9})]
    found = shares([*judgements, judged(NOTHING, ()), judged(NOTHING, {1})])
    assert found.right == pytest.approx(2.5 / 6)
    assert found.answered == pytest.approx(1.5 / 4)
    assert (found.false_refusals, found.refusals) == (0.25, 0.5)
    assert shares([]).right == 0


def test_each_world_is_in_one_fold() -> None:
    worlds = [object() for _ in range(10)]
    folds = folds_of(worlds, 4)  # type: ignore[arg-type] # only their identity matters
    assert sorted(map(id, (world for fold in folds for world in fold))) == sorted(map(id, worlds))
    assert {len(fold) for fold in folds} == {2, 3}


def test_the_table_has_a_row_for_each_policy_and_each_frequent_kind() -> None:
    right, wrong = judged(TWO_HOPS, {4}), judged(TWO_HOPS, {9})
    many = [Outcome(name, "two-hop", one) for name, one in ((SERVICE, right), ("the rules alone", wrong))] * 100
    text = table([*many, Outcome(SERVICE, "rare", right)])
    assert "| the service | 100.0 % | 100.0 % | 0.0 % | 0.0 % |" in text
    assert "| two-hop | 100 | 0 % | 100 % |" in text
    assert "rare" not in text
    assert "manuals" not in text
    manual = Outcome(SERVICE, "two-hop", wrong, CorpusPart.MANUALS)
    assert "| the service | 0.0 % | 0.0 % | 0.0 % | 0.0 % |" in table([*many, manual]).partition("| manuals |")[2]
