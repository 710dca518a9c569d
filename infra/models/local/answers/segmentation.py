"""Segmentation of passages into units of quotation, each with its context.

Invariants: a unit's `text` occurs in its passage, apart from white space; units are in the order of the text; linear in
the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from graphtide.graph.text.place import PassageKind
from graphtide.infra.documents.speakers import speakers_of
from graphtide.infra.models.local.answers.log_entries import entries_of
from graphtide.infra.models.local.answers.units import PUNCTUATION, Cell, Unit, UnitKind
from graphtide.infra.models.local.answers.values.dates import Day
from graphtide.infra.models.local.answers.values.passage_days import day_of, named_years
from graphtide.infra.models.local.answers.words import STOP_WORDS, keys_of, words_of
from graphtide.infra.models.local.english.lexical.text import ends_with_letter, sentences_of
from graphtide.streams.model_ports import ContextPassage

_BULLET = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])[ \t]++")
_SENTENCE_START = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_CHANGES = re.compile(r"change ?logs?|changes|release ?notes|releases|release history|history|what'?s new|news", re.I)
_CUT_DATE = re.compile(r".*\b(?:Mon|Tues?|Weds?|Thu(?:rs?)?|Fri|Sat|Sun)[.]\s+\d", re.DOTALL)
_SENTENCE_END = re.compile(r"[a-z]{3}[.] [A-Z]")
_REMARK = re.compile(r"\s{1,3}(?:\([^()\n]{1,40}\)|Defaults?(?::| is| to)\s(?:[^.\n]|\.(?=\w)){1,40})[.]?(?=\s|\Z)")
"""A short remark after the end of a sentence, in parentheses or about a default: "(Default 5)", "Defaults to 5."."""
_AMOUNT_ALONE = re.compile(
    r" {1,3}(?:[Aa]bout |[Oo]nly )?[\u00a3\u20ac$]?\d[\d.,]{0,12}(?<![.,]) ?"
    r"(?:%|[\u00a3\u20ac]|euros?|pounds?|dollars?|kr|kron[eo]r|kg|g|k?m|l|h|min|minutes?|hours?|days?|weeks?|months?)?(?:[.!](?=\s|\Z)|\Z)"
)
"""An amount that is a sentence of its own, as in logs: "Glazier done. 95 euros." It says nothing alone."""
_MIN_LABELLED, _MAX_LABELLED_CHARS, _MAX_VALUE_WORDS = 3, 120, 5
_ABOUT = frozenset(
    {"title", "tags", "author", "updated", "date", "owner", "version", "weather", "status", "mail", "from", "to", "cc"}
)
_MAX_COLUMN_CHARS, _MAX_TOPIC_WORDS = 60, 3


def units_of(passages: Sequence[ContextPassage]) -> list[Unit]:
    """Return the units of the passages, in order, without those that a later document contradicts."""
    found: list[Unit] = []
    for origin, passage in enumerate(passages):
        found.extend(_passage_units(passage, origin))
    _mark_openings(found)
    return _with_code(found)


def _mark_openings(units: Sequence[Unit]) -> None:
    """Mark the first sentence of each section: of its passage that comes first in the document."""
    first: dict[tuple[str, tuple[str, ...]], Unit] = {}
    for unit in units:
        is_first = unit.section not in first or unit.ordinal < first[unit.section].ordinal
        if unit.kind is UnitKind.SENTENCE and is_first:
            first[unit.section] = unit
    for unit in first.values():
        unit.opens_section = True


def _with_code(units: Sequence[Unit]) -> list[Unit]:
    """Return the units without code that follows the last sentence of another passage: that sentence has it. Long code
    is divided into passages, of which the first one follows.
    """
    last = {(unit.section, unit.origin): unit for unit in units if not unit.cells}
    above = {
        (section, _last_sentence(unit.text)): unit
        for (section, _), unit in last.items() if unit.kind is not UnitKind.CODE
    }  # fmt: skip
    code = [unit for unit in units if unit.kind is UnitKind.CODE and unit.lead_in]
    taken = set()
    for unit in sorted(code, key=lambda unit: unit.ordinal):
        lead = above.get((unit.section, _last_sentence(unit.lead_in)))
        if lead is not None and lead.code is None:
            lead.code = unit
            taken.add(id(unit))
    return [unit for unit in units if id(unit) not in taken]


def _last_sentence(text: str) -> str:
    return _SENTENCE_START.split(text)[-1]


def _passage_units(passage: ContextPassage, origin: int) -> list[Unit]:
    units = [
        unit for unit in _raw_units(passage, origin)
        if not any(passage.text[unit.start : unit.end] in piece for piece in passage.outdated)
    ]  # fmt: skip
    place = passage.place
    head_keys = keys_of(" ".join(place.headings))
    title_keys = keys_of(passage.title) | keys_of(passage.doc_id.translate(PUNCTUATION))
    day = day_of(passage)
    lists_changes = _lists_changes(passage)
    introduction = _Introduction(place.lead_in)
    previous: Unit | None = None
    topic: Unit | None = None
    topic_block = label_block = -1
    label, label_keys = "", frozenset[str]()
    firsts = {unit.block: unit for unit in reversed(units) if not unit.cells}
    ends = {unit.block: unit.end for unit in units}
    texts = {block: passage.text[unit.start : ends[block]] for block, unit in firsts.items()}
    speakers = speakers_of(texts)
    numbered = {block for block, unit in firsts.items() if _has_mark(passage.text, unit.start)}
    entries = entries_of({block: unit.text for block, unit in firsts.items()}, day[0])
    for number, unit in enumerate(units):
        unit.place = number
        unit.headings, unit.title, unit.doc_id = place.headings, passage.title, passage.doc_id
        unit.quoted, unit.ordinal = place.kind is PassageKind.QUOTE, passage.ordinal
        unit.date, unit.lists_changes = day, lists_changes
        unit.title_keys, unit.head_keys = title_keys, head_keys
        if unit.block in entries:
            _place_in_entry(unit, *entries[unit.block])
        unit.lead_in = introduction.of(unit, texts.get(unit.block, ""), unit.block in numbered)
        topic, topic_block = (unit, unit.block) if _is_topic(unit, previous) else (topic, topic_block)
        unit.lead_keys = keys_of(unit.lead_in)
        unit.speaker = speakers.get(unit.block, "") if unit is not firsts.get(unit.block) else ""
        if unit.cells:
            unit.columns = frozenset().union(*(cell.column_keys for cell in unit.cells))
            unit.keys = keys_of(" ; ".join(cell.value for cell in unit.cells))
        else:
            unit.keys = keys_of(unit.text)
        if topic is not None and topic is not unit and unit.block == topic_block:
            unit.lead_keys |= topic.keys
        if (own := _label_of(unit)) or unit.block != label_block:
            label, label_block, label_keys = own, unit.block, unit.keys
        elif label:
            unit.label, unit.lead_keys = label, unit.lead_keys | label_keys
        unit.lead_keys |= keys_of(unit.speaker) | named_years(unit.text, unit.date[0])
        unit.names = _names(unit)
        follows = unit.kind is not UnitKind.ROW or place.kind is not PassageKind.TABLE
        if previous is not None and previous.kind is not UnitKind.ROW and follows:
            unit.follow(previous)
        previous = unit
    whole = frozenset().union(*(unit.keys | unit.columns for unit in units)) if len(units) <= 12 else frozenset()
    for unit in units:
        unit.near_keys = whole if unit.kind is not UnitKind.ROW or place.kind is not PassageKind.TABLE else frozenset()
    return units


class _Introduction:
    """The sentence with a colon above the items of a list, until a paragraph of another form."""

    def __init__(self, lead: str) -> None:
        self._begin(lead, -1)

    def _begin(self, lead: str, block: int) -> None:
        self._lead, self._block = lead, block
        self._first = self._last = ""
        self._is_numbered = self._has_long = False
        self._count = 0

    def of(self, unit: Unit, block: str, is_numbered: bool) -> str:
        """Return the introduction of the next unit, "" without one; `block` is the text of its block."""
        lead = self._lead if unit.block != self._block else ""
        if lead and self._last != block:
            if self._count and self._ends(block, is_numbered):
                lead = self._lead = ""
            self._first, self._is_numbered = (self._first, self._is_numbered) if self._count else (block, is_numbered)
            self._last, self._count = block, self._count + 1
            self._has_long = self._has_long or _SENTENCE_START.search(block) is not None
        if unit.text.endswith(":"):
            self._begin(unit.text, unit.block)
        return lead

    def _ends(self, block: str, is_numbered: bool) -> bool:
        """Return whether a block is a paragraph after the list: it has no number and the first item has one; it is the
        first of several sentences after two items of one; or it has another form than the first item.
        """
        if self._is_numbered:
            return not is_numbered
        several = _SENTENCE_START.search(block) is not None and len(block.split()) > _MAX_ITEM_WORDS
        return (several and self._count > 1 and not self._has_long) or _ends_list(self._first, block)


def _ends_list(first: str, block: str) -> bool:
    """Return whether a block is a paragraph after a list, by the form of the first item: it has several sentences,
    a full stop or a capital, and the item has not. Short blocks are items.
    """
    if len(block.split()) <= _MAX_ITEM_WORDS:
        return len(_SENTENCE_START.findall(block)) > len(_SENTENCE_START.findall(first))
    closed = block.endswith((".", "!", "?")) and not first.endswith((".", "!", "?"))
    return closed or (block[:1].isupper() and first[:1].islower())


_MAX_ITEM_WORDS = 6


def _has_mark(text: str, start: int) -> bool:
    """Return whether the mark of a list, such as "2.", is before the first sentence of a block."""
    return bool(text[text.rfind("\n\n", 0, start) + 1 : start].strip())


def _lists_changes(passage: ContextPassage) -> bool:
    """Return whether the title, or the name of the file, is that of a list of changes."""
    stem = PurePosixPath(passage.doc_id.partition("#")[0]).stem
    return any(_CHANGES.fullmatch(name.replace("_", " ").replace("-", " ").strip()) for name in (passage.title, stem))


def _place_in_entry(unit: Unit, stamp: str, day: Day) -> None:
    """Give a sentence of a log's entry the day of the entry, and its stamp as a heading."""
    unit.date = day if day[1] else unit.date
    if not unit.text.lstrip("[(").startswith(stamp):
        unit.headings, unit.head_keys = (*unit.headings, stamp), unit.head_keys | keys_of(stamp)


def _is_topic(unit: Unit, previous: Unit | None) -> bool:
    """Return whether a unit is the short title with which a paragraph or an item begins: "3. Roof." """
    is_first = previous is None or previous.block != unit.block
    return is_first and not unit.cells and unit.text.endswith((".", ":")) and len(unit.text.split()) <= _MAX_TOPIC_WORDS


def _label_of(unit: Unit) -> str:
    """Return the name before the dash with which a paragraph or an item begins: "Ana Lund -- cook since May."."""
    found = None if unit.cells or unit.kind is UnitKind.CODE else _LABELLING.match(unit.text)
    return found[1].rstrip() if found else ""


_LABELLING = re.compile(r"((?:[A-Z][\w.'\u2019-]{0,30} ){1,4})(?:[\u2013\u2014]|-{1,2}) ")


def _names(unit: Unit) -> frozenset[str]:
    return frozenset(
        word.key for word in words_of(unit.text)
        if (word.coded and (len(word.text) > 3 or any(c.isalpha() for c in word.text)) and ":" not in word.text)
        or (word.capital and word.text.lower() not in STOP_WORDS)
    )  # fmt: skip


def _raw_units(passage: ContextPassage, origin: int) -> Iterator[Unit]:
    table = passage.place.kind is PassageKind.TABLE
    code = passage.place.kind is PassageKind.CODE
    blocks = list(_blocks(passage.text))
    labelled = {} if table or code else _labelled(passage.text, blocks)
    for block, (first, end) in enumerate(blocks):
        start = first
        if block in labelled:
            last = labelled[block]
            if last >= 0:
                yield _record(passage.text, start, blocks[last][1], origin, block)
            continue
        while start < end and passage.text[start].isspace():
            start += 1
        if start == end:
            continue
        if code:
            yield from _code(passage.text, origin)
            return
        elif table:
            yield from _rows(passage, start, end, origin, block)
        else:
            yield from _sentences(passage.text, start, end, origin, block)


def _code(text: str, origin: int) -> Iterator[Unit]:
    unit = _unit(text, 0, len(text), UnitKind.CODE, origin, 0)
    unit.source = text
    yield unit


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans between empty lines."""
    start = 0
    while (end := text.find("\n\n", start)) >= 0:
        yield start, end
        start = end + 2
    yield start, len(text)


def _labelled(text: str, blocks: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Return the runs of short blocks of the form "label: value": the last block of a run at its first, else -1. Longer
    values are statements of their own: "Energy: Octopus, 165 a month since September".
    """
    found: dict[int, int] = {}
    run: list[int] = []
    for at, (start, end) in enumerate([*blocks, (0, 0)]):
        if at < len(blocks) and end - start <= _MAX_LABELLED_CHARS and _is_labelled(text[start:end].strip()):
            run.append(at)
            continue
        pairs = [text[slice(*blocks[each])].strip().partition(":") for each in run]
        words = sum(len(value.split()) for _, _, value in pairs)
        if len({label for label, _, _ in pairs}) == len(run) >= _MIN_LABELLED and words <= _MAX_VALUE_WORDS * len(run):
            found |= dict.fromkeys(run, -1) | {run[0]: run[-1]}
        run = []
    return found


def _is_labelled(line: str) -> bool:
    label, found, value = line.partition(": ")
    words = label.replace("_", " ").replace("-", " ").split()
    return (
        bool(found and value.strip())
        and not (label[:1].isupper() and _SENTENCE_END.search(value))
        and label == label.rstrip()
        and "\n" not in line
        and 0 < len(words) <= 3
        and "".join(words).isalnum()
    )


def _record(text: str, start: int, end: int, origin: int, block: int) -> Unit:
    """Return a run of labels and values as a row."""
    while start < end and text[start].isspace():
        start += 1
    unit = _unit(text, start, end, UnitKind.ROW, origin, block)
    pairs = (line.strip().partition(":") for line in text[start:end].split("\n") if line.strip())
    unit.cells = tuple(Cell(label.strip(), value.strip()) for label, _, value in pairs)
    return unit


def _rows(passage: ContextPassage, start: int, end: int, origin: int, block: int) -> Iterator[Unit]:
    text, at = passage.text, start
    for line in text[start:end].split("\n"):
        if line.strip():
            unit = _unit(text, at, at + len(line), UnitKind.ROW, origin, block)
            unit.cells = _cells(unit.text)
            names = {cell.column.lower() for cell in unit.cells}
            if (
                names & _ABOUT
                and names & {"title", "tags", "author", "date", "mail", "from", "subject"}
                and block == 0
                and not passage.place.row
            ):
                unit.kind = UnitKind.ABOUT if _describes(names) else UnitKind.ROW
            yield unit
        at += len(line) + 1


def _describes(names: set[str]) -> bool:
    """Return whether a row has the columns of a document's own description, and not those of a table."""
    return bool(names & {"title", "tags", "author", "mail", "subject"}) or {"from", "to"} <= names <= _HEADER


_HEADER = frozenset({"from", "to", "cc", "date", "sent"})
"""Fields of a mail without a subject; a table with more columns than these lists stays or journeys "from" and "to"."""


def _cells(text: str) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for part in text.split("; "):
        column, found, value = part.partition(": ")
        if found and len(column) <= _MAX_COLUMN_CHARS:
            cells.append(Cell(column.strip(), value.strip()))
        elif cells and cells[-1].column:
            cells[-1] = Cell(cells[-1].column, f"{cells[-1].value}; {part.strip()}")
        else:
            cells.append(Cell("", part.strip()))
    return tuple(cells)


def _sentences(text: str, start: int, end: int, origin: int, block: int) -> Iterator[Unit]:
    mark = _BULLET.match(text, start, end)
    begun = -1
    for sentence in sentences_of(text[start:end]):
        first, last = start + sentence.start, start + sentence.end
        if mark and first < mark.end():
            first = min(mark.end(), last)
        first = begun if begun >= 0 else first
        begun = first if last < end and _continues(text, last, end) else -1
        if begun < 0 and any(char.isalnum() for char in text[first:last]):  # a smiley is no sentence
            yield _unit(text, first, last, UnitKind.SENTENCE, origin, block)
    if begun >= 0:
        yield _unit(text, begun, end, UnitKind.SENTENCE, origin, block)


def _continues(text: str, last: int, end: int) -> bool:
    """Return whether what is before `end` belongs to the sentence that ends at `last`."""
    added = _REMARK.match(text, last, end) or _AMOUNT_ALONE.match(text, last, end)
    return _is_cut(text, last) or added is not None


def _is_cut(text: str, end: int) -> bool:
    """Return whether a sentence that ends there was cut within "goes to T. Okonjo" or "on Tues. 10 March"."""
    before = text[end - 3 : end - 2]
    is_initial = text[end - 2 : end - 1].isupper() and not before.isalnum() and before != "\u00b0"
    cut = (is_initial and not ends_with_letter(text, end)) or bool(_CUT_DATE.match(text, max(0, end - 7), end + 4))
    return cut and text[end - 1 : end] == "."


def _unit(text: str, start: int, end: int, kind: UnitKind, origin: int, block: int) -> Unit:
    return Unit(" ".join(text[start:end].split()), start, end, kind, origin, block, 0)
