"""Readers of question sets in their published forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize("rows", [[], [{"answer": "x"}], [{"id": 1, "question": "a"}, {"id": 1, "question": "b"}]])
def test_wrong_files_are_refused_with_their_name(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    """No question, a record without one, an id twice."""
    with pytest.raises(Invalid, match=r"/set(: record| contains)"):
        read_questions(written(tmp_path / "set", *rows))
