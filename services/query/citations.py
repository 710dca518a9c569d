"""Citations of an answer: for each `[n]` in its text the sentence, item or row of the passage that it quotes.

The words before a mark are compared with the units of the passage, so quotations and the words of a language
model are treated alike. Invariant: `passage.text[start:end]` is the cited unit, and the row of its place is its own,
where a passage holds several rows. Cost: linear in the answer and the cited passages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphtide.graph.text.place import PassageKind, Place
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.units import Unit
from graphtide.infra.models.local.answers.words import keys_of
from graphtide.infra.models.local.chunker import BLOCK_SEPARATOR
from graphtide.services.application import Citation
from graphtide.streams.model_ports import ContextPassage

_MARKS = re.compile(r"\[\d{1,6}\](?:\[\d{1,6}\])*+")
_NUMBER = re.compile(r"\d+")
_MAX_WORDS_CHARS = 2_000


def citations(text: str, passages: Sequence[ContextPassage]) -> tuple[Citation, ...]:
    """Return the citations in the order of the text, each once. `[n]` names `passages[n - 1]`."""
    units: dict[int, list[Unit]] = {}
    found: dict[tuple[int, int, int], Citation] = {}
    for words, number in _cited(text):
        if not 0 < number <= len(passages):
            continue
        passage = passages[number - 1]
        if number not in units:
            units[number] = units_of([passage])
        citation = _citation(words, number, passage, units[number])
        found.setdefault((number, citation.start, citation.end), citation)
    return tuple(found.values())


def _cited(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words before each mark, back to the mark before, with each of its numbers."""
    end, words = 0, ""
    for marks in _MARKS.finditer(text):
        words = text[max(end, marks.start() - _MAX_WORDS_CHARS) : marks.start()].strip() or words
        end = marks.end()
        for number in _NUMBER.findall(marks[0]):
            yield words, int(number)


def _citation(words: str, number: int, passage: ContextPassage, units: Sequence[Unit]) -> Citation:
    asked = keys_of(words)
    best = max(units, key=lambda unit: _overlap(asked, unit), default=None)
    start, end = (best.start, best.end) if best is not None else (0, len(passage.text))
    quote = " ".join(passage.text[start:end].split())
    place = _place(passage, start)
    return Citation(passage.doc_id, passage.chunk_id, passage.text, passage.title, place, number, quote, start, end)


def _place(passage: ContextPassage, start: int) -> Place:
    """Return the place of the passage; in a table, with the row at `start` instead of the passage's first one."""
    place = passage.place
    if place.kind is not PassageKind.TABLE or not place.row:
        return place
    return replace(place, row=place.row + passage.text.count(BLOCK_SEPARATOR, 0, start))


def _overlap(words: frozenset[str], unit: Unit) -> float:
    keys = unit.keys | unit.columns
    return len(words & keys) / (len(words | keys) or 1)
