"""Units of quotation: the sentences and the table rows of passages, with the context in which each is stated.

The headings, the title, the introduction of a list and the names of columns are context: they help to match a question
and are never quoted alone. Invariants: a unit's `text` occurs in its passage, apart from white space; units are in the
order of the text; linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePosixPath
from weakref import ref

from graphtide.graph.text.place import PassageKind
from graphtide.infra.models.local.answers.log_entries import entries_of
from graphtide.infra.models.local.answers.values import Day, days_in
from graphtide.infra.models.local.answers.words import STOP_WORDS, Word, keys_of, word_set, words_of
from graphtide.infra.models.local.english.lexical.text import sentences_of
from graphtide.streams.model_ports import ContextPassage

_BULLET = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])[ \t]++")
LEADS = (":", "...", "\u2026")
"""The ends of a sentence that announces what follows."""
_SENTENCE_START = re.compile(r"(?<=[.!?]) (?=[A-Z])")
_CHANGES = re.compile(r"change ?logs?|changes|release ?notes|releases|release history|history|what'?s new|news", re.I)
_CUT_DATE = re.compile(r".*\b(?:Mon|Tues?|Weds?|Thu(?:rs?)?|Fri|Sat|Sun)[.]\s+\d", re.DOTALL)
_SENTENCE_END = re.compile(r"[a-z]{3}[.] [A-Z]")
_REMARK = re.compile(r"\s{1,3}\([^()\n]{1,40}\)[.]?(?=\s|\Z)")
"""A short remark in parentheses after the end of a sentence: "(Default 5)"."""
_MAX_COLUMN_CHARS, _MAX_TOPIC_WORDS = 60, 3
DONE, TO_DO = "Done: ", "To do: "
_MIN_LABELLED, _MAX_LABELLED_CHARS = 3, 120
_PUNCTUATION = str.maketrans("-_./", "    ")
_OPENERS = word_set(
    """he she it they his her its their this these that those him them there both then so therefore otherwise
    instead neither such here"""
)
_ABOUT = frozenset(
    {"title", "tags", "author", "updated", "date", "owner", "version", "weather", "status", "mail", "from", "to", "cc"}
)
_NUMBER_KEYS, _NUMBER_SIGNS = keys_of("number"), word_set("no nr num #")
_PERSONS = word_set("he she him her")
_ONES = word_set("one ones")
_OPENING_CHARS = 60
_FIRST_PERSON = frozenset({"i", "we", "my", "our", "me", "us"})


class UnitKind(StrEnum):
    SENTENCE = "sentence"
    ITEM = "item"
    ROW = "row"
    ABOUT = "about"
    """A row of the document's own description, such as its front matter."""
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table row under the name of its column, which may be empty."""

    column: str
    value: str

    @property
    def column_keys(self) -> frozenset[str]:
        words = self.column.translate(_PUNCTUATION)
        found = keys_of(words)
        return found | _NUMBER_KEYS if not _NUMBER_SIGNS.isdisjoint(words.lower().split()) else found

    @property
    def text(self) -> str:
        return f"{self.column}: {self.value}" if self.column else self.value


def is_state_column(cell: Cell) -> bool:
    """Return whether a cell states how far something is."""
    return cell.column.lower() in _STATE_COLUMNS


_STATE_COLUMNS = word_set("state status stage progress")


@dataclass(slots=True, weakref_slot=True)
class Unit:
    """A sentence, list item or table row. `place` is its position among the units of its passage.

    `origin` is the index of its passage; `block` groups the sentences of one paragraph or list item.
    """

    text: str
    start: int
    end: int
    kind: UnitKind
    origin: int
    block: int
    place: int
    cells: tuple[Cell, ...] = ()
    quoted: bool = False
    headings: tuple[str, ...] = ()
    lead_in: str = ""
    title: str = ""
    doc_id: str = ""
    date: tuple[int, int, int] = (0, 0, 0)
    keys: frozenset[str] = frozenset()
    columns: frozenset[str] = frozenset()
    lead_keys: frozenset[str] = frozenset()
    head_keys: frozenset[str] = frozenset()
    title_keys: frozenset[str] = frozenset()
    near_keys: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Keys of words that look like names: capitalised, or codes, or long numbers."""
    before: Unit | None = field(default=None, repr=False)
    _after: ref[Unit] | None = field(default=None, repr=False, compare=False)
    """Weak: with a cycle, the units of a question would remain until a full collection, which is rare
    (services/process/interpreter.py)."""
    cites: tuple[int, ...] = ()
    lists_changes: bool = False
    """It is in a list of the changes of each version."""
    ordinal: int = 0
    """That of its passage in the document."""
    opens_section: bool = False
    """It is the first one below its heading, or of its document, among the passages of the context."""
    source: str = ""
    """The text of code with its line breaks."""
    code: Unit | None = field(default=None, repr=False)
    """The code after it: "Install it:"."""

    @property
    def announces_code(self) -> bool:
        """Return whether it ends by announcing code."""
        return self.code is not None and self.text.endswith(LEADS)

    @property
    def after(self) -> Unit | None:
        """Return the next unit of the passage, while something holds it."""
        return self._after() if self._after is not None else None

    def follow(self, previous: Unit) -> None:
        """Place it after another unit."""
        self.before, previous._after = previous, ref(self)

    @property
    def dangling(self) -> bool:
        """Return whether it opens with a pronoun, so that the previous sentence belongs to the quotation."""
        first = self.text.split(" ", 1)[0].strip("\"'(,").lower()
        return self.kind is UnitKind.SENTENCE and self._follows and (first in _OPENERS or self._means_another)

    @property
    def _means_another(self) -> bool:
        """Return whether it has a pronoun of a person, or "the green one", and no name: "ask him for the key"."""
        words = words_of(self.text)
        names = any(word.capital and word.text.lower() not in STOP_WORDS for word in words[1:])
        return not names and (any(word.text.lower() in _PERSONS for word in words) or _is_elliptic(words))

    @property
    def resumes(self) -> bool:
        """Return whether it opens with "the" and a noun of the previous sentence: "The team owns …"."""
        words = words_of(self.text[:_OPENING_CHARS])
        if len(words) < 2 or words[0].text != "The" or self.before is None or not self._follows:
            return False
        return words[1].key in self.before.keys

    @property
    def _follows(self) -> bool:
        return self.before is not None and self.before.block == self.block

    @property
    def antecedent(self) -> Unit | None:
        """Return the sentence on which it depends, before the previous one, which depends on it, too."""
        before = self.before if self.dangling else None
        return before.before if before is not None and before.dangling else None

    @property
    def whole(self) -> str:
        """Return the text with the previous sentence where it depends on it."""
        return f"{self.before.text} {self.text}" if self.dangling and self.before is not None else self.text


def _is_elliptic(words: Sequence[Word]) -> bool:
    """Return whether an adjective replaces a noun of the sentence before: "the green one"."""
    return any(
        words[at].text.lower() in _ONES and words[at - 2].text.lower() in ("the", "this", "that", "a", "an")
        for at in range(2, len(words))
    )


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
        section = unit.doc_id, unit.headings
        if unit.kind is UnitKind.SENTENCE and (section not in first or unit.ordinal < first[section].ordinal):
            first[section] = unit
    for unit in first.values():
        unit.opens_section = True


def _with_code(units: Sequence[Unit]) -> list[Unit]:
    """Return the units without code that follows the last sentence of another passage: that sentence has it. Long code
    is divided into passages, of which the first one follows.
    """
    last = {(unit.doc_id, unit.headings, unit.origin): unit for unit in units if not unit.cells}
    above = {
        (doc_id, headings, _SENTENCE_START.split(unit.text)[-1]): unit
        for (doc_id, headings, _), unit in last.items() if unit.kind is not UnitKind.CODE
    }  # fmt: skip
    code = [unit for unit in units if unit.kind is UnitKind.CODE and unit.lead_in]
    taken = set()
    for unit in sorted(code, key=lambda unit: unit.ordinal):
        lead = above.get((unit.doc_id, unit.headings, _SENTENCE_START.split(unit.lead_in)[-1]))
        if lead is not None and lead.code is None:
            lead.code = unit
            taken.add(id(unit))
    return [unit for unit in units if id(unit) not in taken]


def _passage_units(passage: ContextPassage, origin: int) -> list[Unit]:
    units = [
        unit for unit in _raw_units(passage, origin)
        if not any(passage.text[unit.start : unit.end] in piece for piece in passage.outdated)
    ]  # fmt: skip
    place = passage.place
    head_keys = keys_of(" ".join(place.headings))
    title_keys = keys_of(passage.title) | keys_of(passage.doc_id.translate(_PUNCTUATION))
    day = _day(passage)
    lists_changes = _lists_changes(passage)
    lead = place.lead_in
    lead_block = -1
    previous: Unit | None = None
    topic: Unit | None = None
    topic_block = -1
    entries = entries_of({unit.block: unit.text for unit in reversed(units) if not unit.cells}, day[0])
    for number, unit in enumerate(units):
        unit.place = number
        unit.headings, unit.title, unit.doc_id = place.headings, passage.title, passage.doc_id
        unit.quoted, unit.ordinal = place.kind is PassageKind.QUOTE, passage.ordinal
        unit.date, unit.lists_changes = day, lists_changes
        unit.title_keys, unit.head_keys = title_keys, head_keys
        if unit.block in entries:
            _place_in_entry(unit, *entries[unit.block])
        unit.lead_in = lead if unit.block != lead_block else ""
        topic, topic_block = (unit, unit.block) if _is_topic(unit, previous) else (topic, topic_block)
        unit.lead_keys = keys_of(unit.lead_in)
        if unit.text.endswith(":"):
            lead, lead_block = unit.text, unit.block
        if unit.cells:
            unit.columns = frozenset().union(*(cell.column_keys for cell in unit.cells))
            unit.keys = keys_of(" ; ".join(cell.value for cell in unit.cells))
        else:
            unit.keys = keys_of(unit.text)
        if topic is not None and topic is not unit and unit.block == topic_block:
            unit.lead_keys |= topic.keys
        unit.names = _names(unit)
        follows = unit.kind is not UnitKind.ROW or place.kind is not PassageKind.TABLE
        if previous is not None and previous.kind is not UnitKind.ROW and follows:
            unit.follow(previous)
        previous = unit
    whole = frozenset().union(*(unit.keys | unit.columns for unit in units)) if len(units) <= 12 else frozenset()
    for unit in units:
        unit.near_keys = whole if unit.kind is not UnitKind.ROW or place.kind is not PassageKind.TABLE else frozenset()
    return units


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


def _names(unit: Unit) -> frozenset[str]:
    return frozenset(
        word.key for word in words_of(unit.text)
        if (word.coded and (len(word.text) > 3 or any(c.isalpha() for c in word.text)) and ":" not in word.text)
        or (word.capital and word.text.lower() not in STOP_WORDS)
    )  # fmt: skip


def _day(passage: ContextPassage) -> tuple[int, int, int]:
    """Return the date of a passage: that of its innermost heading that names one, else that of its document."""
    document = next(iter(days_in(passage.occurred_at[:10])), (0, 0, 0))
    if document == (0, 0, 0) and passage.occurred_at[:4].isdigit():
        part = passage.occurred_at[5:7]
        document = (int(passage.occurred_at[:4]), int(part) if part.isdigit() else 0, 0)
    texts = (*reversed(passage.place.headings), passage.title)
    for text in texts:
        for year, month, day in days_in(text):
            return year or document[0] or _first_year(texts), month, day
    return document


def _first_year(texts: Sequence[str]) -> int:
    """Return the first year that a date of the texts names: "10 April" below "Diary, April 2025" is of 2025."""
    return next((year for text in texts for year, _, _ in days_in(text) if year), 0)


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
            yield from _rows(passage.text, start, end, origin, block)
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
    """Return the runs of short blocks of the form "label: value": the last block of a run at its first, else -1."""
    found: dict[int, int] = {}
    run: list[int] = []
    for at, (start, end) in enumerate([*blocks, (0, 0)]):
        if at < len(blocks) and end - start <= _MAX_LABELLED_CHARS and _is_labelled(text[start:end].strip()):
            run.append(at)
            continue
        labels = {text[slice(*blocks[each])].strip().partition(":")[0] for each in run}
        if len(labels) == len(run) >= _MIN_LABELLED:
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


def _rows(text: str, start: int, end: int, origin: int, block: int) -> Iterator[Unit]:
    at = start
    for line in text[start:end].split("\n"):
        if line.strip():
            unit = _unit(text, at, at + len(line), UnitKind.ROW, origin, block)
            unit.cells = _cells(unit.text)
            names = {cell.column.lower() for cell in unit.cells}
            if (
                names & _ABOUT
                and names & {"title", "tags", "author", "date", "mail", "from", "subject"}
                and block == 0
                and origin >= 0
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
        begun = first if last < end and (_is_cut(text, last) or _REMARK.match(text, last, end)) else -1
        if begun < 0 and first < last:
            yield _unit(text, first, last, UnitKind.SENTENCE, origin, block)
    if begun >= 0:
        yield _unit(text, begun, end, UnitKind.SENTENCE, origin, block)


def _is_cut(text: str, end: int) -> bool:
    """Return whether a sentence that ends there was cut within "goes to T. Okonjo" or "on Tues. 10 March"."""
    before = text[end - 3 : end - 2]
    is_initial = text[end - 2 : end - 1].isupper() and not before.isalnum() and before != "\u00b0"
    return text[end - 1 : end] == "." and (is_initial or bool(_CUT_DATE.match(text, max(0, end - 7), end + 4)))


def _unit(text: str, start: int, end: int, kind: UnitKind, origin: int, block: int) -> Unit:
    return Unit(" ".join(text[start:end].split()), start, end, kind, origin, block, 0)


def first_person(unit: Unit) -> bool:
    return any(word.text.lower() in _FIRST_PERSON for word in words_of(unit.text)[:12])
