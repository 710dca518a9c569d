"""Structure of a passage: its topic, and blocks of prose, rows of tables and labelled values.

A passage's title is a path, "Title > Heading > Lead-in". Its text is blocks separated by empty lines; a row of a table
is a block of one line, "Name: Ann Lee; Town: Oslo", a labelled value is "Owner: Ann Lee". Invariants: spans are
positions in the text; every character is visited a bounded number of times.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.graph.text.place import PATH_SEPARATOR
from graphtide.infra.models.local.english.lexical.words import word_set as words

MAX_KEY_CHARS = 40
_MAX_KEY_WORDS = 5
_MAX_ROW_CHARS = 4_000
_MAX_TOPIC_CHARS = 80
_MAX_TOPIC_WORDS = 9
_MAX_HEADING_WORDS = 6  # a longer one is a sentence that introduces a list
_BREAK = re.compile(r"\n[^\S\n]{0,8}\n")
_MARKER = re.compile(r"(?:[-*+•] |\d{1,3}[.)] )?(?:\[[ xX]\] )?(?:(?:To do|Done|Cancelled|Struck out): )?")
_ID_KEYS = words("id no nr number code key ref sku # reference")
_NAME_KEYS = words(
    "name title object item product subject person customer client company task topic part model document thing "
    "description"
)
_DOCUMENT_KINDS = words(
    "card notes note minutes report runbook overview profile handbook guide readme faq postmortem review policy "
    "changelog spec specification summary memo sheet page manual letter mail update document paper plan"
)
_FILE_NAME = re.compile(r"\.[a-z]{2,5}$")
_URL = frozenset(("http", "https", "ftp", "mailto"))


@dataclass(frozen=True, slots=True)
class RowCell:
    """One value of a row at ``start``..``end`` of the text, under its column's name ("" when it has none)."""

    key: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PassageBlock:
    """A block at ``start``..``end`` of the text: prose, or a row if it has cells (one of them: a labelled value)."""

    start: int
    end: int
    cells: tuple[RowCell, ...] = ()


@dataclass(frozen=True, slots=True)
class PassageTopic:
    """The thing a passage is about, and the heading of its section; both "" when there is none."""

    name: str
    heading: str


def topic_of(title: str) -> PassageTopic:
    """Read the path in a title. A kind of document before or after the thing is left out: "Model card: Falcon-7B"."""
    path = [part.strip() for part in title.split(PATH_SEPARATOR)]
    name = _thing(path[0])
    if _FILE_NAME.search(name) or len(name) > _MAX_TOPIC_CHARS or len(name.split()) > _MAX_TOPIC_WORDS:
        name = ""
    headings = [part for part in path[1:] if len(part.split()) <= _MAX_HEADING_WORDS]
    return PassageTopic(name, headings[-1].rstrip(":") if headings else "")


def _thing(title: str) -> str:
    for separator in (": ", " \u2013 ", " \u2014 ", " - ", " ("):
        left, found, right = title.partition(separator)
        if not found:
            continue
        right = right.removesuffix(")") if separator == " (" else right
        kinds = [_is_kind(side) for side in (left, right)]
        if kinds[0] != kinds[1]:
            return (right if kinds[0] else left).strip()
    return title


def _is_kind(words: str) -> bool:
    last = words.lower().split()[-1:]
    return bool(last) and last[0] in _DOCUMENT_KINDS and len(words.split()) <= 3


def blocks_of(text: str) -> Iterator[PassageBlock]:
    """Yield the blocks of a passage in order."""
    start = 0
    for gap in _BREAK.finditer(text):
        yield from _block(text, start, gap.start())
        start = gap.end()
    yield from _block(text, start, len(text))


def _block(text: str, start: int, end: int) -> Iterator[PassageBlock]:
    end = start + len(text[start:end].rstrip())
    start = end - len(text[start:end].lstrip())
    if start == end:
        return
    marker = _MARKER.match(text, start, end)
    start = marker.end() if marker is not None else start
    one_line = end - start <= _MAX_ROW_CHARS and text.find("\n", start, end) < 0
    cells = _cells(text, start, end) if one_line else ()
    if len(cells) > 1:
        yield PassageBlock(start, end, cells)
        return
    while one_line and start < end and (key := _key(text[start:end])):
        stop = _sentence_end(text, start + len(key), end)
        yield PassageBlock(start, stop, (RowCell(key, start + len(key) + 2, stop),))
        start = stop + 1
    if start < end:
        yield PassageBlock(start, end)


def _sentence_end(text: str, start: int, end: int) -> int:
    """Return the end of the sentence: after a full stop before a capital, unless the stop belongs to an initial."""
    at = text.find(". ", start, end)
    while at >= 0 and (not text[at + 2 : at + 3].isupper() or text[at - 2 : at - 1] in " .(" or text[at - 1].isupper()):
        at = text.find(". ", at + 1, end)
    return at + 1 if at >= 0 else end


def _cells(text: str, start: int, end: int) -> tuple[RowCell, ...]:
    """Return the cells of a row; none, or one, for a labelled value or prose."""
    cells: list[RowCell] = []
    at = start
    for part in text[start:end].split("; "):
        key = _key(part)
        if key:
            cells.append(RowCell(key, at + len(key) + 2, at + len(part)))
        elif not cells:
            cells.append(RowCell("", at, at + len(part)))
        else:  # a value with a semicolon in it
            cells[-1] = RowCell(cells[-1].key, cells[-1].start, at + len(part))
        at += len(part) + 2
    is_row = sum(bool(cell.key) for cell in cells) >= 2
    return tuple(cell for cell in cells if text[cell.start : cell.end].strip()) if is_row else ()


def _key(part: str) -> str:
    """Return the column's name before a colon, or ""."""
    colon = part.find(": ", 0, MAX_KEY_CHARS + 2)
    key = part[:colon] if colon > 0 else ""
    if len(key.split()) > _MAX_KEY_WORDS or not key[-1:].strip() or any(mark in key for mark in '.,!?"\u201c'):
        return ""
    return "" if key.lower() in _URL else key


def subject_cell(cells: tuple[RowCell, ...], text: str) -> int:
    """Return the index of the cell that a row is about: the first, or the named one beside a number or a date."""
    if len(cells) > 1 and (_is_id_key(cells[0].key) or _is_number(text[cells[0].start : cells[0].end])):
        named = next((at for at, cell in enumerate(cells) if cell.key.lower() in _NAME_KEYS), None)
        if named is not None:
            return named
    return 0


def _is_id_key(key: str) -> bool:
    return bool(_ID_KEYS & set(key.lower().replace("_", " ").replace(".", " ").split()))


def _is_number(value: str) -> bool:
    letters = sum(character.isalpha() for character in value)
    return letters < sum(character.isdigit() for character in value)
