"""Statements of a sentence, and the rule for which ones to keep.

Data for the clauses; no text is read here. Every name is already resolved to its full form in the text.
"""

from dataclasses import dataclass

from graphtide.infra.models.local.english.naming import PERSON

_GENERIC = frozenset(
    {
        "time", "year", "years", "part", "number", "way", "people", "thing", "things", "place", "end", "day", "days",
        "case", "one", "lot", "name", "use", "result", "example", "kind", "fact", "same", "first", "second", "home",
        "work", "side", "today", "others", "it", "months", "weeks", "hours", "member", "series", "majority", "rest",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reference:
    """One end of a statement. ``via`` is a common noun in between: the "generator" of "the station's generator"."""

    name: str
    type: str
    via: str = ""
    certainty: float = 1.0


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """Subject, predicate, object, and the dates the clause gives as ISO 8601."""

    subject: Reference
    predicate: str
    object: Reference
    weight: float
    valid_from: str | None = None
    valid_to: str | None = None


@dataclass(slots=True)
class Dates:
    """Dates of a clause by its prepositions: the first date of each end counts."""

    valid_from: str | None = None
    valid_to: str | None = None

    def take(self, preposition: str, iso: str | None) -> None:
        if iso is None:
            return
        if preposition in ("until", "till", "to", "before", "and") and (preposition != "and" or self.valid_from):
            self.valid_to = self.valid_to or iso
        else:
            self.valid_from = self.valid_from or iso


def worth_stating(subject: Reference, target: Reference, predicate: str) -> bool:
    """Return whether one end is a name (or the other a date or a quantity), and no end a word without meaning alone."""
    for end in (subject, target):
        if end.type == "term" and end.name.casefold() in _GENERIC:
            return False
    named = [end for end in (subject, target) if end.name[:1].isupper() or end.type in ("date", "quantity", PERSON)]
    lone_subject = subject.type == "term" and " " not in subject.name and subject.name.islower()
    return bool(named) and not lone_subject and subject.type != "quantity"
