"""Referents of the nouns of a sentence, resolved with the discourse, or None if it is not safe.

Results of the resolution are kept: names in ``mentioned``, and the roles written before names ("the glaciologist Ida
Moreau") in ``roles``.
"""

from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.lexical.words import NATIONALITIES, NUMBER_WORDS
from graphtide.infra.models.local.english.mentions import Item
from graphtide.infra.models.local.english.statements import Reference


class References:
    """Resolver of the items of one sentence."""

    def __init__(self, discourse: Discourse) -> None:
        self._discourse = discourse
        self.mentioned: set[str] = set()
        self.roles: list[tuple[Reference, Item]] = []

    def owner(self, item: Item) -> Reference | None:
        if not item.owner:
            return None
        if item.owner.startswith("@"):
            name = self._discourse.definite(item.owner[1:])
            return Reference(name, self._discourse.type_of(name), "", 0.9) if name else None
        if self._discourse.is_possessive(item.owner):
            name = self._discourse.pronoun(item.owner)
            return Reference(name, self._discourse.type_of(name), "", 0.8) if name else None
        name = self._discourse.full(item.owner)
        return Reference(name, self._discourse.type_of(name))

    def of(self, item: Item) -> Reference | None:
        """Return an item's referent, or None if it is not safe."""
        reference = self._resolved(item)
        if reference is not None and reference.type not in ("date", "quantity") and reference.name[:1].isupper():
            self.mentioned.add(reference.name)
        return reference

    def _resolved(self, item: Item) -> Reference | None:
        if item.kind == "pronoun":
            name = self._discourse.pronoun(item.text)
            return Reference(name, self._discourse.type_of(name), "", 0.8) if name else None
        if item.kind == "name":
            return self._named(item)
        if item.kind in ("date", "quantity"):
            return Reference(item.text, item.type)
        return self._term(item)

    def _named(self, item: Item) -> Reference:
        name = self._discourse.full(item.text)
        kind = item.type if name == item.text else self._discourse.type_of(name)
        reference = Reference(name, kind)
        if item.role is not None:
            role, item.role = item.role, None
            self.roles.append((reference, role))
        return reference

    def _term(self, item: Item) -> Reference | None:
        if not any(word.isalpha() and word not in NUMBER_WORDS for word in item.text.lower().split()):
            return None
        owner = self.owner(item)
        if owner is not None:
            return Reference(owner.name, owner.type, item.head, owner.certainty)
        if item.owner:
            return None
        if item.article in ("the", "this", "that") and " " not in phrase(item):
            name = self._discourse.definite(item.head)
            if name is not None:
                return Reference(name, self._discourse.type_of(name), "", 0.9)
        return Reference(phrase(item), "term")


def phrase(item: Item) -> str:
    """Return the noun phrase without its article, on one line, and without the capital of a sentence's first word."""
    text = " ".join(item.text.split())
    opens = text[:1].isupper() and text[1:].islower() and text.partition(" ")[0].lower() not in NATIONALITIES
    return text[0].lower() + text[1:] if opens else text


def role_phrase(item: Item) -> str:
    return " ".join(item.text.lower().partition(" of ")[0].split()[-4:])
