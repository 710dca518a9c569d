"""Statements of a sentence, and the rule for which ones to keep.

Data for the clauses; no text is read here. Every name is already resolved to its full form in the text.
"""

from dataclasses import dataclass

_GENERIC = frozenset(
    {
        "time", "year", "years", "part", "number", "way", "people", "thing", "things", "place", "end", "day", "days",
        "case", "one", "lot", "name", "use", "result", "example", "kind", "fact", "same", "first", "second", "home",
        "work", "side", "today", "others", "it", "months", "weeks", "hours", "member", "series", "majority", "rest",
    }
)  # fmt: skip


_MIN_TERM_CHARS = 3
_UNNAMED = 0.7


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


def worth_stating(subject: Reference, target: Reference) -> bool:
    """Return whether both ends mean something alone, and the subject is a thing."""
    for end in (subject, target):
        if end.type == "term" and (end.name.casefold() in _GENERIC or len(end.name) < _MIN_TERM_CHARS):
            return False
    return subject.type not in ("quantity", "date")


def certainty(subject: Reference, target: Reference, weight: float) -> float:
    """Return the weight of a statement: less for one between two common nouns, which names nothing."""
    named = any(end.type not in ("term", "quantity") for end in (subject, target))
    return round(weight * subject.certainty * target.certainty * (1.0 if named else _UNNAMED), 2)
