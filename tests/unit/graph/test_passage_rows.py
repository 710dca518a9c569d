"""Mentions and evidence of a passage as columns: the rows that were given, in less memory."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence

import pytest

from graphtide.graph.records import EvidenceRow, MentionRow
from graphtide.graph.view_state.passage_rows import NO_EVIDENCE, NO_MENTIONS, PassageEvidence, PassageMentions
from tests.bench.object_sizes import sizes_of


def mentions(rng: random.Random, varied: bool) -> tuple[MentionRow, ...]:
    """Return the mentions of a passage; without `varied`, none has a description or is repeated."""
    some = rng.choice(("", "an engine")) if varied else ""
    return tuple(
        MentionRow(rng.randrange(4), 7, rng.choice(("Ada", "ada")), some, rng.randint(1, 2) if varied else 1)
        for _ in range(rng.randint(1, 6))
    )


def evidence(rng: random.Random, varied: bool) -> tuple[EvidenceRow, ...]:
    """Return the evidence of a passage; without `varied`, in default values."""

    def text(*choices: str) -> str:
        return rng.choice(("", *choices)) if varied else ""

    return tuple(
        EvidenceRow(
            rng.randrange(4), 7, text("d"), text("s", "t"), rng.choice((500, 1_000)),
            rng.randint(1, 2) if varied else 1, text("1843"), text("1850"),
        )
        for _ in range(rng.randint(1, 6))
    )  # fmt: skip


STATED = "s: an engine. t"
"""Has what the rows of this module quote."""


@pytest.mark.parametrize("text", ["", "another text", STATED, "x" * 70_000 + STATED], ids=len)
@pytest.mark.parametrize("varied", [False, True])
def test_rows_read_are_the_rows_given(varied: bool, text: str) -> None:
    """By iteration, by place, in slices, after a pickle; equal rows make equal columns, whatever text they quote."""
    seed = 5
    print(f"seed {seed}")
    rng = random.Random(seed)
    for _ in range(200):
        given = mentions(rng, varied), evidence(rng, varied)
        read: tuple[Sequence[object], ...] = PassageMentions(given[0], text), PassageEvidence(given[1], text)
        for rows, columns in zip(given, read, strict=True):
            assert tuple(columns) == rows and len(columns) == len(rows) and bool(columns)
            assert [columns[place] for place in range(-len(rows), len(rows))] == [*rows, *rows]
            assert columns[1:3] == rows[1:3] and columns.index(rows[-1]) == rows.index(rows[-1])
            again = type(columns)(rows)  # type: ignore[call-arg]
            assert columns == again and hash(columns) == hash(again) and columns != rows
            assert pickle.loads(pickle.dumps(columns)) == columns  # noqa: S301 - its own
            with pytest.raises(IndexError):
                columns[len(rows)]
        assert PassageMentions(given[0]).labels == tuple(row.label for row in given[0])
        texts = [(row.statement, row.description, row.sentence, row.count) for row in given[1]]
        assert list(PassageEvidence(given[1], text).texts()) == texts
        for number in range(5):
            assert PassageMentions(given[0], text).count_of(number) == sum(
                r.count for r in given[0] if r.label == number
            )
            assert PassageEvidence(given[1], text).of(number) == [row for row in given[1] if row.statement == number]


def test_different_rows_make_different_columns() -> None:
    """In each field."""
    mention, support = MentionRow(1, 7, "Ada", "", 1), EvidenceRow(1, 7, "", "", 500, 1)
    others = [MentionRow(2, 7, "Ada", "", 1), MentionRow(1, 8, "Ada", "", 1), MentionRow(1, 7, "ada", "", 1)]
    others += [MentionRow(1, 7, "Ada", "d", 1), MentionRow(1, 7, "Ada", "", 2)]
    assert len({PassageMentions((row,)) for row in (mention, *others)}) == 6
    changes = ((2, 7, "", "", 500, 1), (1, 8, "", "", 500, 1), (1, 7, "d", "", 500, 1), (1, 7, "", "s", 500, 1))
    rows = [support, *(EvidenceRow(*fields) for fields in (*changes, (1, 7, "", "", 501, 1), (1, 7, "", "", 500, 2)))]
    rows += [EvidenceRow(1, 7, "", "", 500, 1, "1843"), EvidenceRow(1, 7, "", "", 500, 1, "", "1843")]
    assert len({PassageEvidence((row,)) for row in rows}) == 9


def test_passage_without_rows_has_empty_columns() -> None:
    """As every passage of a text that states nothing."""
    assert not NO_MENTIONS and not NO_EVIDENCE and NO_MENTIONS.labels == NO_EVIDENCE.statements == ()
    assert PassageMentions() == NO_MENTIONS and PassageEvidence() == NO_EVIDENCE
    assert NO_MENTIONS.count_of(1) == 0 and NO_EVIDENCE.of(1) == []


def own_bytes(root: object) -> int:
    """Return the size of an object and what it refers to, without numbers and texts, which other objects hold, too."""
    return sum(size for name, size in sizes_of(root, set()).size_bytes.items() if name not in ("int", "str"))


def test_columns_take_less_than_half_of_the_memory_of_the_rows() -> None:
    """Measured on 12 rows in default values, as facts have that are brought along."""
    rows = tuple(MentionRow(number, 7, "Ada", "", 1) for number in range(12))
    facts = tuple(EvidenceRow(number, 7, "", "", 500, 1) for number in range(12))
    assert own_bytes(PassageMentions(rows)) < 0.5 * own_bytes(rows)
    assert own_bytes(PassageEvidence(facts)) < 0.5 * own_bytes(facts)


def test_names_and_sentences_of_the_passage_are_held_once() -> None:
    """As places in its text; what it lacks is one text, however many rows have it."""
    sentences = [f"Ada wrote program {number}." for number in range(12)]
    text = " ".join(sentences)
    names = ["Ada", "Grace", "program 3", ""] * 3
    mentions = [MentionRow(n, 7, *pair, 1) for n, pair in enumerate(zip(names, sentences, strict=True))]
    facts = [EvidenceRow(n, 7, f"it is {n % 3}", text_of, 500, 1, "1843") for n, text_of in enumerate(sentences)]
    columns = PassageMentions(mentions, text)
    assert list(columns) == mentions
    assert sizes_of(columns, set()).objects["str"] == 3  # that of the passage, "Grace", and ""
    evidence = PassageEvidence(facts, text)
    assert list(evidence) == facts
    assert sizes_of(evidence, set()).objects["str"] == 4  # that of the passage, descriptions, dates, and ""
