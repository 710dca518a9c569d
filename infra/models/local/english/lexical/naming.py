"""Types of names, judged by the name alone.

Context is not used: the same name must get the same type in every document, or one thing would become two entities. The
one exception is a title before a name ("Captain Ruud"), which belongs to the name as it is written.
"""

from functools import lru_cache

from graphtide.graph.resolution.given_names import AMBIGUOUS
from graphtide.infra.models.local.english.lexical.words import (
    FIRST_NAMES,
    HONORIFICS,
    NAME_PARTICLES,
    ORGANISATION_CUES,
    PLACE_CUES,
    PLACE_NAMES,
    PLACES,
    WORK_CUES,
)

PERSON, ORGANISATION, PLACE, WORK = "person", "organisation", "place", "work"
NAME, TERM = "name", "term"
"""A proper name of unknown kind, and a common noun phrase."""
_CUES = ((WORK_CUES, WORK), (ORGANISATION_CUES, ORGANISATION), (PLACE_CUES, PLACE))
# A place has its cue word first ("Lake Vigdis") or last ("Skarv Island").
_LEADING_PLACES = frozenset(
    ["lake", "mount", "cape", "port", "point", "gulf", "bay", "isle", "river", "sea", "strait", "fort", "camp"]
)
_VESSELS = frozenset({"uss", "hms", "rv", "ms", "mv", "ss"})


@lru_cache(maxsize=16_384)
def type_of(name: str) -> str:
    """Return person, organisation, place, work, name or term. Pure; the tokenizer bounds the length of ``name``."""
    words = [word.strip(".,'\u2019&-").lower() for word in name.split()]
    if not words or not any(character.isupper() for character in name):
        return TERM
    if words[0] in _VESSELS:
        return NAME
    if name.lower() in PLACE_NAMES or (len(words) == 1 and words[0] in PLACES):
        return PLACE
    cued = _by_cue(words)
    if cued:
        return cued
    first = words[0] in FIRST_NAMES and (len(words) > 1 or words[0] not in AMBIGUOUS)
    if _titled(words) or _initials_first(name) or (first and _looks_personal(name, words)):
        return PERSON
    acronym = name.isupper() and 2 <= len(name) <= 6 and name.isalpha()
    return ORGANISATION if acronym else NAME


def _titled(words: list[str]) -> bool:
    return len(words) > 1 and words[0] in HONORIFICS and words[0] not in ("st", "saint")


def _by_cue(words: list[str]) -> str:
    """Return the type by the head of a name, its last word before "of"; a place may also begin with it ("Cape
    Nord").
    """
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]
    if len(words) > 1:
        for cues, kind in _CUES:
            if head in cues:
                return kind
        if words[0] in _LEADING_PLACES:
            return PLACE
    return ""


def _looks_personal(name: str, words: list[str]) -> bool:
    capitals = all(part[0].isupper() or part.lower() in NAME_PARTICLES for part in name.split())
    return capitals and len(words) <= 4 and not any(character.isdigit() for character in name) and "of" not in words


def could_be_person(name: str) -> bool:
    """Return whether a name of unknown kind has a person's form, so that its context may decide."""
    words = name.split()
    return 1 <= len(words) <= 3 and all(
        len(w) > 2 and w[0].isupper() and not w.isupper() and w.isalpha() for w in words
    )


def _initials_first(name: str) -> bool:
    parts = name.split()
    initials = [part for part in parts[:-1] if len(part) <= 2 and part.endswith(".")]
    return len(parts) >= 2 and len(initials) >= 1 and len(parts[-1]) > 2 and parts[0][-1:] == "."


def without_title(name: str) -> str:
    """Return the name without the titles before it, if two words remain: "Dr. Ida Moreau" is "Ida Moreau"."""
    parts = name.split()
    at = 0
    while at < len(parts) - 2 and parts[at].strip(".").lower() in HONORIFICS:
        at += 1
    return " ".join(parts[at:])


def short_forms(name: str) -> tuple[str, ...]:
    """Return the short forms of ``name`` in a text: a person's surname, with and without particles, and given name."""
    if type_of(name) != PERSON:
        return ()
    parts = [part for part in name.split() if part.strip(".").lower() not in HONORIFICS]
    if len(parts) < 2:
        return ()
    at = len(parts) - 1
    while at > 1 and parts[at - 1].lower() in NAME_PARTICLES:
        at -= 1
    given = [parts[0]] if len(parts[0]) > 2 and parts[0].isalpha() else []
    return tuple(dict.fromkeys((parts[-1], " ".join(parts[at:]), *given)))


def expands(short: str, name: str) -> bool:
    """Return whether ``short`` is made of the initials of ``name``: FAA, Federal Aviation Administration."""
    initials = [word[0] for word in name.replace("-", " ").split() if word[0].isupper()]
    full = [word[0].upper() for word in name.replace("-", " ").split()]
    return short.isupper() and len(short) >= 2 and list(short.replace(".", "")) in (initials, full)
