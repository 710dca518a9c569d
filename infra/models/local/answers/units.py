"""Units of quotation: sentences, list items and table rows, with the context in which each is stated.

The headings, the title, the introduction of a list and the names of columns are context: they help to match a question
and are never quoted alone. `segmentation.py` makes them of passages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from weakref import ref

from graphtide.infra.models.local.answers.words import STOP_WORDS, Word, keys_of, word_set, words_of

LEADS = (":", "...", "\u2026")
"""The ends of a sentence that announces what follows."""
DONE, TO_DO = "Done: ", "To do: "
PUNCTUATION = str.maketrans("-_./", "    ")
_ASKING = re.compile(r"\?[\"'\u201d\u2019)]?(?: \([^()]{1,60}\))?[^\w()]{0,8}\Z")
_REQUESTING = re.compile(r"(?:[Aa]nd |[Ss]o |[Pp]lease,? )?(?:[Cc]an|[Cc]ould|[Ww]ould|[Ww]ill) you ")
_OPENERS = word_set(
    """he she it they his her its their this these that those him them there both then so therefore otherwise
    instead neither such here"""
)
_NUMBER_KEYS, _NUMBER_SIGNS = keys_of("number"), word_set("no nr num #")
_PERSONS = word_set("he she him her")
_THINGS, _SHORT = word_set("it them"), 6
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
        words = self.column.translate(PUNCTUATION)
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
    label: str = ""
    """The subject that an earlier sentence of its paragraph names before a dash: "Ana Lund" of "Ana Lund -- cook."."""
    speaker: str = ""
    """The name that its message begins with, in its later sentences: "Ana" of "Ana: I will book it. It is free."."""
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
    def asks(self) -> bool:
        """Return whether it is a question, perhaps with a remark in parentheses or a smiley after it."""
        return "?" in self.text and _ASKING.search(self.text) is not None

    @property
    def requests(self) -> bool:
        """Return whether it asks for something to be done: "Can you send me the trailer?"."""
        return self.asks and _REQUESTING.match(self.text) is not None

    @property
    def after(self) -> Unit | None:
        """Return the next unit of the passage, while something holds it."""
        return self._after() if self._after is not None else None

    @property
    def section(self) -> tuple[str, tuple[str, ...]]:
        """Return its document and headings."""
        return self.doc_id, self.headings

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
        """Return whether it has a pronoun of a person, or "the green one", and no name: "ask him for the key"; a short
        sentence, a pronoun of things: "Don't buy them again."
        """
        words = words_of(self.text)
        names = any(word.capital and word.text.lower() not in STOP_WORDS for word in words[1:])
        pronouns = _PERSONS | _THINGS if len(words) <= _SHORT else _PERSONS
        return not names and (any(word.text.lower() in pronouns for word in words) or _is_elliptic(words))

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
    def labelling(self) -> Unit | None:
        """Return the sentence that has the label, None without one."""
        first = self.before if self.label else None
        while first is not None and first.label:
            first = first.before
        return first

    @property
    def whole(self) -> str:
        """Return the text with the previous sentence where it depends on it."""
        return f"{self.before.text} {self.text}" if self.dangling and self.before is not None else self.text


Table = tuple[str, tuple[str, ...], str]


def table_of(row: Unit) -> Table:
    """Return what the rows of one table have in common: file, headings and first column. Others may lack in a row,
    whose empty cells are left out.
    """
    return file_of(row), row.headings, row.cells[0].column if row.cells else ""


def file_of(unit: Unit) -> str:
    """Return the id of the file that a unit is from: records of JSON lines have ids with # and their own."""
    return unit.doc_id.partition("#")[0]


def following(unit: Unit, units: Sequence[Unit]) -> Unit | None:
    """Return the next unit of the document: of its passage, else the first one of the next passage, if it was read."""
    if unit.after is not None:
        return unit.after
    rest = (other for other in units if other.doc_id == unit.doc_id and other.ordinal == unit.ordinal + 1)
    return min(rest, key=lambda other: other.place, default=None)


def _is_elliptic(words: Sequence[Word]) -> bool:
    """Return whether an adjective replaces a noun of the sentence before: "the green one"."""
    return any(
        words[at].text.lower() in _ONES and words[at - 2].text.lower() in ("the", "this", "that", "a", "an")
        for at in range(2, len(words))
    )


def first_person(unit: Unit) -> bool:
    return any(word.text.lower() in _FIRST_PERSON for word in words_of(unit.text)[:12])
