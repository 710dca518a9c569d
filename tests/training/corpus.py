"""Worlds: invented notes with questions about them, the corpus on which cross-encoder and listwise ranker are trained.

A file is a world; README.md describes its format. Invariant: a world that is read is well formed; `unplaced` names the
places that its documents do not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

WORLDS = Path(__file__).with_name("worlds")


class CorpusPart(StrEnum):
    """The use of a world, by the folder that it is in."""

    ADAPTER = "adapter"
    """The cross-encoder's adapter is trained on it."""
    RANKER = "ranker"
    """The listwise ranker is trained on it: the cross-encoder reads it as it reads the notes of a stranger."""
    MANUALS = "manuals"
    """As RANKER, with manuals, handbooks and rules in place of notes."""
    HELD_OUT = "held_out"
    """Nothing is trained on it: the limits of the service are chosen on it."""


RANKED = (CorpusPart.RANKER, CorpusPart.MANUALS)
"""The parts of the ranker."""
_HEADER, _FILE, _QUESTIONS = "=== ", "file: ", "questions"
_TEXTS = ("q", "type")
_BLANKS = re.compile(r"\s+")


class WorldError(ValueError):
    """A part of a world that does not have the format, with its file and line."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")


@dataclass(frozen=True, slots=True)
class WorldQuestion:
    """A question, verbatim places of the documents, and its kind, such as "two-hop".

    The last of `gold` answers it, and the others lead there; in a list or a comparison each is a part of the answer.
    Without `gold` nothing answers it. Each of `also` answers it too.
    """

    text: str
    kind: str
    gold: tuple[str, ...]
    also: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Documents by the names of their files, and the questions about them."""

    name: str
    documents: Mapping[str, str]
    questions: tuple[WorldQuestion, ...]


def read_world(path: Path) -> World:
    """Return the world in a file. Raises WorldError."""
    documents: dict[str, str] = {}
    questions: list[WorldQuestion] = []
    for line, header, body in _sections(path):
        if header.startswith(_FILE):
            documents[header.removeprefix(_FILE)] = "\n".join(body).strip("\n") + "\n"
        elif header == _QUESTIONS:
            numbered = enumerate(body, line + 1)
            questions += [_question(path, number, text) for number, text in numbered if text.strip()]
        else:
            raise WorldError(path, line, f"unknown header {header!r}: write file: NAME, or questions")
    return World(path.stem, documents, tuple(questions))


def read_worlds(part: CorpusPart, folder: Path = WORLDS) -> list[World]:
    """Return the worlds of a part, by name. Raises WorldError."""
    return [read_world(path) for path in sorted((folder / part).glob("*.txt"))]


def flat_documents(world: World) -> dict[str, str]:
    """Return the documents with one blank for each run of white space, as `files_with` compares them."""
    return {name: _flat(text) for name, text in world.documents.items()}


def files_with(place: str, documents: Mapping[str, str]) -> list[str]:
    """Return the names of the flat documents in which a place occurs, apart from white space."""
    wanted = _flat(place)
    return [name for name, text in documents.items() if wanted in text]


def unplaced(world: World) -> Iterator[str]:
    """Yield a message for each place that occurs in no document of the world, with the world and the question."""
    documents = flat_documents(world)
    for question in world.questions:
        for place in (*question.gold, *question.also):
            if not files_with(place, documents):
                yield f"{world.name}: {question.text!r}: occurs in no document: {place!r}"


def _flat(text: str) -> str:
    return _BLANKS.sub(" ", text)


def _sections(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the line, the header and the lines of each section."""
    lines = path.read_text(encoding="utf-8").split("\n")
    starts = [number for number, line in enumerate(lines) if line.startswith(_HEADER)]
    if not starts or any(line.strip() for line in lines[: starts[0]]):
        raise WorldError(path, 1, f"a world begins with a header: {_HEADER}{_FILE}NAME")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield start + 1, lines[start].removeprefix(_HEADER).strip(), lines[start + 1 : end]


def _question(path: Path, line: int, text: str) -> WorldQuestion:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise WorldError(path, line, f"not JSON: {error}") from error
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) and fields[name] for name in _TEXTS):
        raise WorldError(path, line, "a question is an object with the texts q and type")
    gold, also = _places(fields.get("gold")), _places(fields.get("also", []))
    if gold is None or also is None or fields.keys() - {*_TEXTS, "gold", "also"}:
        raise WorldError(path, line, "a question has a list of texts named gold, may have one named also, and no more")
    return WorldQuestion(fields["q"], fields["type"], gold, also)


def _places(found: Any) -> tuple[str, ...] | None:
    is_list = isinstance(found, list) and all(isinstance(place, str) and place.strip() for place in found)
    return tuple(found) if is_list else None
