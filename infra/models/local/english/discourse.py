"""Resolution of references in a text: surnames, acronyms, "she", "it" and "the station", if it is safe.

A reference that two names could claim stays unresolved. Safe means: a surname that one person of the text has; a
pronoun that fits the type of the previous sentence's subject; "the station" if one name of the text ends in "Station",
or one was described as a station.
"""

from graphtide.infra.models.local.english.lexical.naming import ORGANISATION, PERSON, expands, short_forms, type_of
from graphtide.infra.models.local.english.lexical.words import PERSON_PRONOUNS, POSSESSIVES, THING_PRONOUNS

_SYNONYMS = dict.fromkeys(("ship", "vessel", "boat"), ("ship", "vessel", "boat"))
_ORGANISATION_HEADS = frozenset({"company", "organisation", "organization", "agency", "institute"})
_HEAD_CHARS = 3  # the shortest last word of a name that may replace it ("bay")


class Discourse:
    """The names of one text, and the latest subject. Filled with ``introduce``, then read in text order."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._aliases: dict[str, str | None] = {}
        self._heads: dict[str, str | None] = {}
        self._organisations: list[str] = []
        self._person: str | None = None
        self._thing: str | None = None
        self._several: str | None = None
        self.topic = ""
        """The thing that the document is about, "" if unknown: statements without a subject are about it."""

    def introduce(self, name: str, kind: str) -> None:
        """Add a full name before the text is read."""
        if name in self._types:
            return
        self._types[name] = kind
        if kind == ORGANISATION:
            self._organisations.append(name)
        for alias in short_forms(name):
            self._claim(self._aliases, alias, name)
        words = name.split()
        if len(words) > 1 and kind != PERSON:
            self._claim(self._heads, words[-1].lower(), name)

    def abbreviate(self, short: str, name: str) -> bool:
        """Record "name (short)" if the one is made of the initials of the other."""
        if not expands(short, name):
            return False
        self._claim(self._aliases, short, name)
        return True

    def describe(self, name: str, head: str) -> None:
        """Record that ``name`` is a ``head``, so that "the head" may refer to it later."""
        if self.type_of(name) != PERSON:
            for synonym in _SYNONYMS.get(head, (head,)):
                self._claim(self._heads, synonym, name)

    @staticmethod
    def _claim(claims: dict[str, str | None], key: str, name: str) -> None:
        claims[key] = name if claims.get(key, name) == name else None

    def set_topic(self, name: str) -> None:
        """Set ``name`` as the document's topic."""
        self.introduce(name, type_of(name))
        self._heads[name.rpartition(" ")[2].lower()] = name  # even if other names have the same last word
        self.finish(name, set())

    def finish(self, subject: str, names: set[str]) -> None:
        """Record a finished sentence about ``subject`` ("" when unclear) with the names ``names``: pronouns refer to
        it.
        """
        persons = {name for name in names if self.type_of(name) == PERSON}
        if subject and self.type_of(subject) == PERSON:
            self._person = subject
        elif persons:
            self._person = next(iter(persons)) if len(persons) == 1 else None
        things = names - persons
        if subject and self.type_of(subject) != PERSON:
            self._thing = subject
        elif not subject or things:
            self._thing = next(iter(things)) if subject and len(things) == 1 else None

    def continue_with(self, subject: str) -> None:
        """Record the subject of a finished sentence, "" when unclear: "they" refers to it if it is a plural."""
        plural = subject[:1].islower() and subject.endswith("s") and not subject.endswith("ss")
        if subject:
            self._several = subject if plural else None

    def type_of(self, name: str) -> str:
        """Return the type a name was introduced with, or the type that the name itself suggests."""
        return self._types.get(name) or type_of(name)

    def full(self, name: str) -> str:
        """Return the full name of a surname or an acronym in this text, else the name itself."""
        alias = self._aliases.get(name)
        if alias is not None:
            return alias
        surname = name.rpartition(" ")[2]
        titled = type_of(name) == PERSON and name.count(" ") == 1 and not short_forms(name)
        return self._aliases.get(surname) or name if titled else name

    def pronoun(self, word: str) -> str | None:
        """Return the referent of "she", "its" …, or None if it is not safe."""
        if word in PERSON_PRONOUNS or word in ("his", "her"):
            return self._person
        if word in THING_PRONOUNS or word == "its":
            return self._thing
        if word in ("they", "them", "their"):
            return self._several
        return None

    def definite(self, head: str) -> str | None:
        """Return the name that "the ``head``" refers to, or None."""
        if len(head) < _HEAD_CHARS:
            return None
        name = self._heads.get(head)
        if name is None and head in _ORGANISATION_HEADS and len(self._organisations) == 1:
            return self._organisations[0]
        return name

    @staticmethod
    def is_possessive(word: str) -> bool:
        """Return whether an owner is a possessive pronoun, so not a name yet."""
        return word in POSSESSIVES
