"""Readers of question sets and of their documents: MuSiQue, HotpotQA, 2WikiMultiHopQA, GraphRAG-Bench, own files.

A file is JSON lines, or one JSON list. The form is recognised by the fields; the caller may name it, because simple
files with `id`, `question` and `answer` exist of every set.

    form            recognised by                        gold answers              documents in the file
    musique         paragraphs                           answer, answer_aliases    paragraphs
    2wiki           context, evidences                   answer                    context
    hotpot          context, supporting_facts            answer                    context
    graphrag-bench  question_type, evidence              answer                    none
    plain           anything else with a question        answer, aliases           none
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from graphtide.infra.models.replies.json_replies import parsed
from graphtide.streams.errors import Invalid

Row = Mapping[str, Any]
_ID_CHARS = 16


class QuestionForm(StrEnum):
    """The published forms of question sets."""

    MUSIQUE = "musique"
    HOTPOT = "hotpot"
    TWO_WIKI = "2wiki"
    GRAPHRAG_BENCH = "graphrag-bench"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question with its gold answers, the first being the main one. `kind` groups rows of the report."""

    id: str
    text: str
    golds: tuple[str, ...] = ()
    kind: str = ""
    evidence: str = ""

    @property
    def gold(self) -> str:
        return self.golds[0] if self.golds else ""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The questions of a file. `digest` is the SHA-256 of the file."""

    name: str
    form: QuestionForm
    digest: str
    questions: tuple[EvaluationQuestion, ...]

    @property
    def closed_answers(self) -> bool:
        """Return whether HotpotQA's rule on yes and no applies to F1."""
        return self.form is not QuestionForm.MUSIQUE


def read_questions(path: Path, form: QuestionForm | None = None) -> QuestionSet:
    """Return the questions of a file. Raises Invalid, which names the file and the record."""
    rows = read_rows(path)
    if not rows:
        raise Invalid("questions", f"{path} contains no question; it must be JSON lines or a JSON list of them")
    chosen = form or _form_of(rows[0])
    questions = tuple(_question(row, number, path) for number, row in enumerate(rows, 1))
    counts = Counter(each.id for each in questions)
    repeated = [name for name, count in counts.items() if count > 1]
    if repeated:
        raise Invalid("questions", f"{path} contains the id {repeated[0]!r} twice; give each question its own")
    return QuestionSet(path.stem, chosen, sha256(path.read_bytes()).hexdigest(), questions)


def read_corpus(path: Path) -> Iterator[dict[str, str]]:
    """Yield the documents of a file once each, as {"id", "title", "text"}: a corpus, or the contexts of questions."""
    seen: set[str] = set()
    for number, row in enumerate(read_rows(path), 1):
        try:
            found = list(_documents(row))
        except (AttributeError, TypeError, ValueError):
            raise Invalid("corpus", f"{path}: the contexts of record {number} are in no published form") from None
        if not found:
            raise Invalid("corpus", f"{path}: record {number} has no text; a document has id, title and text")
        for document in found:
            if document["id"] not in seen:
                seen.add(document["id"])
                yield document


def _form_of(row: Row) -> QuestionForm:
    if "paragraphs" in row:
        return QuestionForm.MUSIQUE
    if "context" in row:
        return QuestionForm.TWO_WIKI if "evidences" in row else QuestionForm.HOTPOT
    return QuestionForm.GRAPHRAG_BENCH if {"question_type", "evidence"} <= row.keys() else QuestionForm.PLAIN


def _question(row: Row, number: int, path: Path) -> EvaluationQuestion:
    text = row.get("question")
    if not isinstance(text, str) or not text.strip():
        raise Invalid("questions", f"{path}: record {number} has no question; it needs the field question")
    answers = [row.get("answer"), *texts_of(row.get("answer_aliases")), *texts_of(row.get("aliases"))]
    golds = tuple(dict.fromkeys(str(each) for each in answers if each is not None and str(each).strip()))
    kind = row.get("question_type") or row.get("type") or row.get("hops") or ""
    evidence = "; ".join(map(str, texts_of(row.get("evidence"))))
    return EvaluationQuestion(name_of(row, "id", "_id") or str(number), text, golds, str(kind), evidence)


def name_of(row: Row, *fields: str) -> str:
    """Return the first of the fields that has a value, as text; "" without one. The number 0 is a value."""
    return next((str(row[each]) for each in fields if row.get(each) not in (None, "")), "")


def texts_of(value: Any) -> Sequence[Any]:
    """Return a list of values; a single one as a list of one."""
    return value if isinstance(value, list) else [value] if value else []


def _documents(row: Row) -> Iterator[dict[str, str]]:
    if isinstance(row.get("paragraphs"), list):
        for each in row["paragraphs"]:
            yield _document("", str(each.get("title", "")), str(each.get("paragraph_text", "")))
    elif isinstance(row.get("context"), list):
        for title, sentences in row["context"]:
            yield _document("", str(title), "".join(sentences))
    else:
        text = row.get("text") or row.get("context")
        if isinstance(text, str):
            name = name_of(row, "id", "_id", "chunk_id", "corpus_name")
            yield _document(name, str(row.get("title") or ""), text)


def _document(name: str, title: str, text: str) -> dict[str, str]:
    content = sha256(f"{title}\n{text}".encode("utf-8", "replace")).hexdigest()[:_ID_CHARS]
    return {"id": name or content, "title": title, "text": text}


def read_rows(path: Path) -> Sequence[Row]:
    """Return the objects of a file of JSON lines or of one JSON list. Raises Invalid."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid("questions", f"{path} cannot be read ({type(error).__name__}); name a file in UTF-8") from None
    try:
        whole = parsed(content)
    except (ValueError, RecursionError):
        return list(_lines(content, path))
    rows = whole if isinstance(whole, list) else [whole]
    if not all(isinstance(row, dict) for row in rows):
        raise Invalid("questions", f"{path} is JSON, but not a list of objects")
    return rows


def _lines(content: str, path: Path) -> Iterator[Row]:
    for number, line in enumerate(content.split("\n"), 1):  # strings may contain other line separators
        if not line.strip():
            continue
        try:
            row = parsed(line)
        except (ValueError, RecursionError):
            raise Invalid("questions", f"{path}: line {number} is not JSON, or nested too deeply") from None
        if not isinstance(row, dict):
            raise Invalid("questions", f"{path}: line {number} is not an object")
        yield row
