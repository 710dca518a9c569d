"""The bundled sample: a fictional polar station, in articles that are later corrected and withdrawn, and in notes.

It does not measure quality: it shows a new user how the graph follows changes, even with the offline models.
``notes`` holds files as people write them: minutes with lists, a table, a runbook with a code block, an e-mail.
Invariant: ``documents.jsonl`` is in stream order; every first edition comes before the first line that changes one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class SampleDocument:
    """One line of the stream: a document, a later edition of one, or (`delete`) its withdrawal."""

    id: str
    title: str = ""
    text: str = ""
    source: str = ""
    occurred_at: str = ""
    delete: bool = False


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question, and the text its answer must contain for the first editions and for the last (None: no answer)."""

    question: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class NoteQuestion:
    """A question that one of the notes answers, and the text its answer must contain."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class SampleNote:
    """A file of the notes, as it is on the disk."""

    name: str
    content: bytes


def documents() -> tuple[SampleDocument, ...]:
    """Return all lines in stream order: first editions, later ones, one withdrawal."""
    return tuple(SampleDocument(**line) for line in _lines("documents.jsonl"))


def first_editions() -> tuple[SampleDocument, ...]:
    """Return the lines before the first that changes a document."""
    return documents()[: _first_change()]


def later_changes() -> tuple[SampleDocument, ...]:
    """Return the lines from the first that changes a document: corrections and the withdrawal."""
    return documents()[_first_change() :]


def questions() -> tuple[SampleQuestion, ...]:
    """Return the questions to ask after the first editions, and again after the later changes."""
    return tuple(SampleQuestion(**line) for line in _lines("questions.jsonl"))


def notes() -> tuple[SampleNote, ...]:
    """Return the files of the notes, in order of their names."""
    found = sorted(files(__name__).joinpath("notes").iterdir(), key=lambda file: file.name)
    found = [file for file in found if file.is_file()]  # `graphtide sync` may have written its state beside them
    return tuple(SampleNote(file.name, file.read_bytes()) for file in found)


def note_questions() -> tuple[NoteQuestion, ...]:
    """Return the questions to ask about the notes."""
    return tuple(NoteQuestion(**line) for line in _lines("note_questions.jsonl"))


def _first_change() -> int:
    seen: set[str] = set()
    for place, document in enumerate(documents()):
        if document.id in seen:
            return place
        seen.add(document.id)
    return len(seen)


def _lines(name: str) -> Iterator[dict[str, Any]]:
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return (json.loads(line) for line in text.splitlines())
