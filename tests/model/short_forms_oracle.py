"""The meaning of short forms, from the spellings alone: which labels of a small vocabulary are one entity.

It shares no code with `graph.resolution`. The vocabulary is closed: persons ("Ingrid Solheim"), their given names
("Ingrid") and initials ("I. Solheim"), codes ("INC-482") with or without a noun, and acronyms with their introduction
("Norwegian Polar Institute (NPI)"). A short form belongs to its full form when the live labels have one that it fits,
and to none when they have several.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable


def full_forms(short: str, live: Iterable[str]) -> list[str]:
    """Return the live spellings that a spelling may abbreviate."""
    return [name for name in live if name != short and _fits(short, name)]


def entities(live: Collection[str]) -> set[frozenset[str]]:
    """Return the spellings of each entity. Cost: quadratic."""
    entity = {name: {name} for name in live}

    def join(one: str, other: str) -> None:
        if entity[one] is not entity[other]:
            entity[one] |= entity[other]
            for name in list(entity[other]):
                entity[name] = entity[one]

    for name in live:
        introduced = name.partition(" (")[0]
        if introduced != name and introduced in entity:
            join(name, introduced)
    for name in live:
        meant = full_forms(name, live)
        if len({form.partition(" (")[0] for form in meant}) == 1:
            for form in meant:
                join(name, form)
    return {frozenset(names) for names in entity.values()}


def _fits(short: str, name: str) -> bool:
    words, own = name.split(), short.split()
    if name.endswith(f"({short})"):
        return True
    if any(character.isdigit() for character in name):
        return len(own) == 1 and len(words) == 2 and words[1] == short
    if len(words) != 2 or "." in name or name.endswith(")"):
        return False
    if len(own) == 2 and own[0].endswith("."):
        return own[1] == words[1] and words[0].startswith(own[0][0])
    return own == words[:1] and not short.isupper()
