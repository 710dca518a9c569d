"""Mentions and evidence of a passage as columns: the rows that were given, in less memory."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence

import pytest

from graphtide.graph._vectors import text_at, texts
from graphtide.graph.records import EvidenceRow, MentionRow
from graphtide.graph.vector_store import keep_in_chunks, stored_text, text_of
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
    rng, utf8 = random.Random(seed), text.encode()
    for _ in range(200):
        given = mentions(rng, varied), evidence(rng, varied)
        read: tuple[Sequence[object], ...] = PassageMentions(given[0], utf8), PassageEvidence(given[1], utf8)
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
        fields = [(row.statement, row.description, row.sentence, row.count) for row in given[1]]
        assert list(PassageEvidence(given[1], utf8).texts()) == fields
        for number in range(5):
            assert PassageMentions(given[0], utf8).count_of(number) == sum(
                r.count for r in given[0] if r.label == number
            )
            assert PassageEvidence(given[1], utf8).of(number) == [row for row in given[1] if row.statement == number]


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
    """As places of two bytes in its text; what it lacks is there once, however many rows have it."""
    sentences = [f"Ada wrote program {number}." for number in range(12)]
    utf8 = " ".join(sentences).encode()
    names = ["Ada", "Grace", "program 3", ""] * 3
    mentions = [MentionRow(n, 7, *pair, 1) for n, pair in enumerate(zip(names, sentences, strict=True))]
    facts = [EvidenceRow(n, 7, f"it is {n % 3}", stated, 500, 1, "1843") for n, stated in enumerate(sentences)]
    columns = PassageMentions(mentions, utf8)
    assert list(columns) == mentions
    assert len(columns._texts) == 4 + 4 * 2 * len(mentions) + len("Grace")
    evidence = PassageEvidence(facts, utf8)
    assert list(evidence) == facts
    assert len(evidence._texts) == 4 + 4 * 3 * len(facts) + 3 * len("it is 0") + len("1843")


LETTERS = ("a", "b", " ", "\u00e9", "\u0416", "\u2013", "\U0001f600", "\ud83d", "\ude00", "\0")
"""Letters of one to four bytes in UTF-8, and lone surrogates: two of them are not decoded as one letter."""


@pytest.mark.parametrize("size", [0, 1, 30, 70_000])
@pytest.mark.parametrize("in_chunks", [False, True])
def test_rows_of_any_letters_are_the_rows_given(in_chunks: bool, size: int) -> None:
    """Parts of the passage, texts that it lacks, and empty ones, in bytes and in stored bytes."""
    seed = size
    print(f"seed {seed}")
    rng = random.Random(seed)

    def drawn(passage: str) -> str:
        start = rng.randint(0, len(passage))
        return rng.choice(("", passage[start : start + rng.randint(0, 9)], "".join(rng.choices(LETTERS, k=5))))

    keep_in_chunks(in_chunks)
    try:
        for _ in range(50):
            text = "".join(rng.choices(LETTERS, k=size))
            utf8, rows = stored_text(text), rng.randint(1, 9)
            given = [MentionRow(n, 7, drawn(text), drawn(text), rng.randint(1, 2)) for n in range(rows)]
            facts = [
                EvidenceRow(n, 7, drawn(text), drawn(text), rng.choice((1, 2)), 1, drawn(text), drawn(text))
                for n in range(rows)
            ]
            assert text_of(utf8) == text
            mentioned, stated = PassageMentions(given, utf8), PassageEvidence(facts, utf8)
            assert list(mentioned) == given == [mentioned[n] for n in range(rows)]
            assert list(stated) == facts == [stated[n] for n in range(rows)]
            assert mentioned == PassageMentions(given) and stated == PassageEvidence(facts)
    finally:
        keep_in_chunks(False)


def test_column_of_another_text_or_none_is_refused() -> None:
    """Nothing outside of the bytes is read."""
    columns = PassageMentions([MentionRow(1, 7, "Ada", "", 1)], b"It is Ada")
    for column, around in (
        (columns._texts, b"It"),
        (bytes(columns._texts)[:5], b"It is Ada"),
        (b"", b""),
        (b"\xff" * 9, b""),
    ):
        with pytest.raises((ValueError, IndexError)):
            text_at(bytes(column), 0, around)
        with pytest.raises(ValueError, match="column"):
            texts(bytes(column), around)
    with pytest.raises(IndexError, match="no row 1"):
        text_at(columns._texts, 1, b"It is Ada")
    with pytest.raises(TypeError, match="expected bytes, got str"):
        text_at("column", 0, b"")  # type: ignore[arg-type]
