"""Functional predicates, which admit one value at a time: declared, never guessed from the data.

A family is a set of predicates with the same meaning, and names the end that is unique: a company has one chief
executive (the subject of "is chief executive of"), a person lives in one place (the object of "lives in"). Predicates
are compared by a normal form: lower case, without articles, without a leading "is", "currently" and the like. A
predicate in the past tense ("was mayor of") is no member, since it claims nothing about the present.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

End = Literal["subject", "object"]

_PRESENT = frozenset({"is", "are", "has", "have", "currently", "now", "current", "present", "the", "a", "an", "its"})


@dataclass(frozen=True, slots=True)
class FunctionalPredicate:
    """Predicates of one meaning, as normal forms. `one` is the end with a single value for each other end."""

    name: str
    one: End
    predicates: frozenset[str]


@lru_cache(maxsize=4096)
def normal(predicate: str) -> str:
    """Return the normal form of a predicate; that of "is the CEO of" is "ceo of"."""
    return " ".join(word for word in predicate.casefold().replace("_", " ").split() if word not in _PRESENT)


class FunctionalPredicates:
    """The family of each predicate. Immutable.

    With `by_arrival`, of two documents without a date the one published later is the later one.
    """

    def __init__(self, families: Iterable[FunctionalPredicate], by_arrival: bool = False) -> None:
        """Index the families. Raises ValueError when a predicate is in two families, or a family has none."""
        self.families = tuple(families)
        self.by_arrival = by_arrival
        self._by_predicate: dict[str, FunctionalPredicate] = {}
        for family in self.families:
            if not family.predicates:
                raise ValueError(f"the family {family.name!r} names no predicate: list at least one")
            for predicate in family.predicates:
                other = self._by_predicate.setdefault(normal(predicate), family)
                if other is not family:
                    raise ValueError(
                        f"the predicate {predicate!r} is in the families {other.name!r} and {family.name!r}: "
                        "keep it in one"
                    )

    def family(self, predicate: str) -> FunctionalPredicate | None:
        return self._by_predicate.get(normal(predicate))


def parse_families(table: Mapping[str, object]) -> FunctionalPredicates:
    """Parse a TOML table of families: `[mayor]`, `one = "subject"`, `predicates = ["mayor of", …]`.

    `by_arrival = true` may precede them. Raises ValueError naming the invalid entry and the valid form.
    """
    families = []
    by_arrival = table.get("by_arrival", False)
    if not isinstance(by_arrival, bool):
        raise ValueError("by_arrival must be true or false")
    for name, body in table.items():
        if name == "by_arrival":
            continue
        fields = body if isinstance(body, dict) else {}
        one, predicates = fields.get("one"), fields.get("predicates")
        if set(fields) != {"one", "predicates"} or one not in ("subject", "object") or not isinstance(predicates, list):
            raise ValueError(f'[{name}] needs one = "subject" or "object", and predicates = ["…", …], nothing else')
        if not all(isinstance(predicate, str) and normal(predicate) for predicate in predicates):
            raise ValueError(f"[{name}]: a predicate is empty or not a string")
        families.append(FunctionalPredicate(name, one, frozenset(predicates)))
    return FunctionalPredicates(families, by_arrival)


def _office(name: str, *titles: str) -> FunctionalPredicate:
    """Return the family of an office: one subject for each object, for all forms of the title."""
    return FunctionalPredicate(
        name, "subject", frozenset(f"{title} {link}" for title in titles for link in ("of", "for", "at"))
    )


DEFAULT = FunctionalPredicates(
    (
        _office("chief executive", "ceo", "chief executive", "chief executive officer"),
        _office("president", "president"),
        _office("prime minister", "prime minister"),
        _office("chancellor", "chancellor"),
        _office("governor", "governor"),
        _office("mayor", "mayor", "lord mayor"),
        _office("head coach", "head coach"),
        _office("captain", "captain"),
        _office("managing director", "managing director", "director general"),
        FunctionalPredicate(
            "monarch", "subject", frozenset({"king of", "queen of", "monarch of", "emperor of", "empress of"})
        ),
        FunctionalPredicate("capital of", "subject", frozenset({"capital of", "capital city of"})),
        FunctionalPredicate("capital", "object", frozenset({"capital", "capital city"})),
        FunctionalPredicate(
            "headquarters", "object", frozenset({"headquartered in", "headquarters in", "headquarters located in"})
        ),
        FunctionalPredicate("residence", "object", frozenset({"lives in", "resides in", "living in", "residing in"})),
        FunctionalPredicate("spouse", "object", frozenset({"married to", "spouse", "wife", "husband"})),
        FunctionalPredicate("population", "object", frozenset({"population of", "population"})),
    )
)
"""The families used unless the settings name a file."""
