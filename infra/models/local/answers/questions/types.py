"""The plan of a question: its kind, its terms, and the limits on its answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf

from graphtide.infra.models.local.answers.words import (
    IRREGULAR,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS


class Kind(StrEnum):
    """The type of the answer that a question asks for."""

    PERSON = "person"
    DATE = "date"
    PLACE = "place"
    QUANTITY = "quantity"
    REASON = "reason"
    YES_NO = "yes or no"
    CHOICE = "choice"
    VERSION = "version"
    ADDRESS = "address"
    LIST = "list"
    SUMMARY = "summary"
    THING = "thing"


class TermKind(StrEnum):
    NAME = "name"
    CODE = "code"
    WORD = "word"
    FOCUS = "focus"
    WEAK = "weak"
    IMPLIED = "implied"
    """The type of the answer expresses it already: "heavy" asks for a weight."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question. `same` are words that it accepts instead: "handled or solved"."""

    text: str
    key: str
    kind: TermKind
    synonyms: frozenset[str] = frozenset()
    start: int = 0
    same: frozenset[str] = frozenset()

    @property
    def coded(self) -> bool:
        """Return whether it has a digit."""
        return any(char.isdigit() for char in self.text)

    @property
    def verb(self) -> bool:
        """Return whether the word is a form of a common verb in the past, or after an auxiliary."""
        return self.text in VERBS or self.text in IRREGULAR or (self.text.endswith("ed") and self.text.islower())

    @property
    def weak(self) -> bool:
        """Return whether the word says little about what is asked."""
        return self.kind is TermKind.WEAK

    @property
    def hard(self) -> bool:
        """Return whether evidence without this term is about something else."""
        return self.kind in (TermKind.NAME, TermKind.CODE)


@dataclass(frozen=True, slots=True)
class Bound:
    """The limits on a value asked for: "more than 7 pounds" has the lower one 7, which is not included."""

    low: float = -inf
    high: float = inf
    with_low: bool = False
    with_high: bool = False
    unit: str = ""
    """The unit of the limits, "" for none or one that is not converted."""
    measures: frozenset[str] = frozenset()
    """Keys of what its words measure: "age" of "older than"."""
    dated: bool = False
    """The limits are moments: year, month and day together, as 20200131."""
    yearless: bool = False
    """The moments name no year: it is that of the rows."""

    def in_year(self, year: int) -> Bound:
        """Return the limits with this year, if they are moments that name none."""
        if not self.yearless:
            return self
        return replace(self, low=self.low + year * 10_000, high=self.high + year * 10_000, yearless=False)

    def admits(self, value: float) -> bool:
        """Return whether a value is within the limits."""
        above = value > self.low or (self.with_low and value == self.low)
        return above and (value < self.high or (self.with_high and value == self.high))


@dataclass(frozen=True, slots=True)
class Versus:
    """The comparison of a row's value with that of another column: "cost more than planned" has the sign 1."""

    sign: int
    column: str
    """Key of the name of the other column."""


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """See the module. `measures` are the kinds of units that fit a quantity; empty: any number."""

    text: str
    kind: Kind
    terms: tuple[Term, ...]
    measures: frozenset[str] = frozenset()
    dates: tuple[tuple[int, int, int], ...] = ()
    options: tuple[frozenset[str], ...] = ()
    alternatives: bool = False
    plural: bool = False
    present: bool = False
    """It asks what is true now: "who is", "where does"."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of adjacent words that name one thing: "rain sensor", "Hedvig Lund"."""
    date_keys: frozenset[str] = frozenset()
    """Keys of the words of its dates."""
    attribute: str = ""
    """Key of N in "what is the N of X"."""
    counted: str = ""
    """Key of the noun after "how many"."""
    done: bool | None = None
    """True if it asks for what is done, False for what is still open."""
    extreme: int = 0
    """1 if it asks for the greatest value, -1 for the least."""
    negated: bool = False
    """It asks for what is not so: "who does not work in"."""
    bound: Bound | None = None
    """It asks for rows with a greater or smaller value, or of an earlier or later day."""
    to_do: bool = False
    """It asks for what is to do: "what is still to do"."""
    deed: str = ""
    """Key of the verb of a question whether something is permitted: "may visitors enter the"."""
    defines: bool = False
    """It asks what a word means, or what something does."""
    permission: bool = False
    """It asks whether something is permitted."""
    exists: bool = False
    """It asks whether there is something."""
    setting: frozenset[str] = frozenset()
    """Keys of the place or the condition at the end of a yes-or-no question, which an answer need not repeat."""
    versus: Versus | None = None
    past: bool = False
    """It asks for what happened: "when was", "when did"."""
    future: bool = False
    """It asks for what will happen: "how long will"."""
    becomes: bool = False
    """It asks what happens to something."""
    latest: bool = False
    """It says that a value changed or was wrong: "how deep is it really", "what is the price now"."""
    who_verb: str = ""
    """Key of the verb in "who gave the money"."""

    how: bool = False
    """It asks how to do something: "how do I upload a file"."""
    changes: bool = False
    """It asks for what changed, or when: lists of changes may answer it."""
    versions: tuple[str, ...] = ()
    """The numbers of versions that it names."""
    function: bool = False
    """It asks what something does: "what does the scribe do"."""
    ordered: bool = False
    """It asks for the first or the last of things in time: "which ship was built first"."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(term.key for term in self.terms)

    @property
    def limited(self) -> bool:
        """Return whether it has a limit on a number, and not on a moment."""
        return self.bound is not None and not self.bound.dated

    @property
    def deeds(self) -> frozenset[str]:
        """Return the keys of its verbs and of words of their meaning."""
        return frozenset().union(*({term.key} | term.synonyms for term in self.terms if term.verb))
