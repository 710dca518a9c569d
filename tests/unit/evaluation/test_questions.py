"""Readers of question sets in their published forms."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from graphtide.services.evaluation.answers import FileAnswers
from graphtide.services.evaluation.questions import EvaluationQuestion, QuestionForm, read_corpus, read_questions
from graphtide.streams.errors import Invalid

MUSIQUE = {
    "id": "2hop__1",
    "question": "Who?",
    "answer": "Hall",
    "answer_aliases": ["G. Hall"],
    "paragraphs": [{"idx": 0, "title": "A", "paragraph_text": "Hall did.", "is_supporting": True}],
}
HOTPOT = {
    "_id": "5a7",
    "question": "Was it?",
    "answer": "yes",
    "type": "comparison",
    "supporting_facts": [["A", 0]],
    "context": [["A", ["It was.", " Indeed."]], ["B", ["No."]]],
}
BENCH: dict[str, Any] = {
    "id": "M-1",
    "source": "M",
    "question": "Why?",
    "answer": "So.",
    "question_type": "Fact Retrieval",
}
BENCH |= {"evidence": ["e1", "e2"]}


def written(path: Path, *rows: dict[str, Any], whole: bool = False) -> Path:
    """Write rows as JSON lines, or as one list."""
    path.write_text(json.dumps(rows) if whole else "\n".join(map(json.dumps, rows)))
    return path


def test_published_forms_are_recognised(tmp_path: Path) -> None:
    """Each by its fields, as JSON lines or as a list."""
    musique = read_questions(written(tmp_path / "a", MUSIQUE))
    assert musique.form is QuestionForm.MUSIQUE
    assert not musique.closed_answers
    assert musique.questions == (EvaluationQuestion("2hop__1", "Who?", ("Hall", "G. Hall")),)
    hotpot = read_questions(written(tmp_path / "b", HOTPOT, whole=True))
    assert (hotpot.form, hotpot.questions[0].id, hotpot.questions[0].kind) == (QuestionForm.HOTPOT, "5a7", "comparison")
    assert read_questions(written(tmp_path / "c", HOTPOT | {"evidences": []})).form is QuestionForm.TWO_WIKI
    bench = read_questions(written(tmp_path / "d", BENCH, whole=True))
    assert (bench.form, bench.questions[0].evidence) == (QuestionForm.GRAPHRAG_BENCH, "e1; e2")
    own = written(tmp_path / "e", {"question": "1?"}, {"question": "2?", "aliases": ["x"], "answer": "y"})
    assert [(each.id, each.golds) for each in read_questions(own).questions] == [("1", ()), ("2", ("y", "x"))]


def test_documents_of_questions_are_read_once_each(tmp_path: Path) -> None:
    """The contexts of questions, and corpora with other names of the id."""
    contexts = [(one["title"], one["text"]) for one in read_corpus(written(tmp_path / "a", HOTPOT, HOTPOT, MUSIQUE))]
    assert contexts == [("A", "It was. Indeed."), ("B", "No."), ("A", "Hall did.")]
    chunk = written(tmp_path / "b", {"chunk_id": "c1", "order": 0, "text": "t"})
    assert list(read_corpus(chunk)) == [{"id": "c1", "title": "", "text": "t"}]


def test_numbers_from_zero_are_ids_and_one_alias_is_a_list_of_one(tmp_path: Path) -> None:
    """The id 0 is not the number of its record, which the next one has as its id."""
    rows = [{"id": number, "question": f"{number}?", "answer_aliases": "y"} for number in range(3)]
    asked = read_questions(written(tmp_path / "set", *rows)).questions
    assert [(each.id, each.golds) for each in asked] == [("0", ("y",)), ("1", ("y",)), ("2", ("y",))]
    answers = FileAnswers(written(tmp_path / "ours", {"id": 0, "answer": "a", "contexts": "one"}))
    found = asyncio.run(answers.answer(asked[0], 0))
    assert (found.text, found.contexts) == ("a", ("one",))


@pytest.mark.parametrize("separator", ["\u2028", "\u0085"])
def test_separators_inside_of_strings_end_no_line(tmp_path: Path, separator: str) -> None:
    """JSON lines end with a line feed alone; no report can hold half a surrogate pair: it is replaced."""
    path = tmp_path / "set"
    lines = [f'{{"question": "{n}{separator}?", "answer": "\\ud800"}}\r\n' for n in range(2)]
    path.write_bytes("".join(lines).encode())
    asked = read_questions(path).questions
    assert [(each.text, each.gold) for each in asked] == [(f"{n}{separator}?", "?") for n in range(2)]


@pytest.mark.parametrize("whole", [True, False])
def test_nesting_that_no_parser_reads_is_refused(tmp_path: Path, whole: bool) -> None:
    """As a file and as a line."""
    deep = "[" * 200_000
    path = tmp_path / "set"
    path.write_text(deep if whole else f'{{"question": "a"}}\n{deep}\n')
    with pytest.raises(Invalid, match="nested too deeply"):
        read_questions(path)


@pytest.mark.parametrize(
    "row", [{"context": ["abc"]}, {"paragraphs": ["a"]}, {"context": [["title"]]}, {"context": [1]}]
)
def test_contexts_of_another_form_are_refused_with_their_record(tmp_path: Path, row: dict[str, Any]) -> None:
    """Neither pairs of a title and sentences nor paragraphs."""
    with pytest.raises(Invalid, match="/set: the contexts of record 1"):
        list(read_corpus(written(tmp_path / "set", row)))


@pytest.mark.parametrize("rows", [[], [{"answer": "x"}], [{"id": 1, "question": "a"}, {"id": 1, "question": "b"}]])
def test_wrong_files_are_refused_with_their_name(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """No question, a record without one, an id twice."""
    with pytest.raises(Invalid, match=r"/set(: record| contains)"):
        read_questions(written(tmp_path / "set", *rows))
