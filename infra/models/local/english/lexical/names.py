"""Proper names: their start and end.

There is no gazetteer: a name is recognised by its capitals, by its connectors ("of the", "de la", initials, numbers),
and at the start of a sentence, where a capital has no meaning, by the rest of the text. The length of a name is
bounded.
"""

from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical import words as w
from graphtide.infra.models.local.english.lexical.grammar import Grammar, closed
from graphtide.infra.models.local.english.lexical.naming import without_title
from graphtide.infra.models.local.english.lexical.verbs import VERBS

MAX_NAME_TOKENS = 8
_POSSESSIVE = ("'s", "\u2019s")
_OPENING_MARKS = frozenset(':"\u201c#-*|\u2022(.')


@dataclass(frozen=True, slots=True)
class Name:
    """A name up to token ``last``; ``text`` is without possessive ending and without a title before a full name."""

    last: int
    text: str
    possessive: bool


class NameFinder:
    """Finder of names in one sentence. ``known`` are words with a capital inside sentences too."""

    def __init__(self, text: str, grammar: Grammar, known: frozenset[str]) -> None:
        self._text = text
        self._grammar = grammar
        self._tokens = grammar.tokens
        self._known = known

    def starts(self, at: int) -> bool:
        """Return whether a name starts at this token."""
        token = self._tokens[at]
        if not token.capital or token.kind != "word" or token.lower in w.CALENDAR:
            return False
        if self._initial(at):
            return True
        joined = self._grammar.capital(at + 1) and self._grammar.lower(at + 1) not in w.OPENERS
        if token.lower in w.OPENERS:
            shouted = token.text.isupper() and len(token.text) > 2 and token.text in self._known
            return (joined and token.lower in w.PLAIN_ADJECTIVES) or (shouted and not joined)
        if token.lower in w.NATIONALITIES and not joined:
            return False
        if joined or not self._opens(at):
            return joined or len(token.text) > 1 or self._grammar.lower(at + 1) == "."
        return self._opens_with_name(at)

    def read(self, at: int) -> Name:
        """Return the name that starts at this token."""
        last = at
        while last - at < MAX_NAME_TOKENS and not self._possessive(last):
            step = self._continues(last)
            if not step:
                break
            last += step
        text = self._text[self._tokens[at].start : self._tokens[last].end]
        for ending in (*_POSSESSIVE, "'", "\u2019"):
            text = text.removesuffix(ending)
        return Name(last, without_title(" ".join(text.split())), self._possessive(last))

    def _initial(self, at: int) -> bool:
        """Return whether it is the initial of a name: "I. Solheim"."""
        token = self._tokens[at]
        dotted = len(token.text) == 1 and self._grammar.lower(at + 1) == "." and self._tokens[at + 1].start == token.end
        return dotted and self._grammar.capital(at + 2) and not closed(self._grammar.lower(at + 2))

    def _opens(self, at: int) -> bool:
        return at == 0 or self._tokens[at - 1].text in _OPENING_MARKS

    def _opens_with_name(self, at: int) -> bool:
        """Return whether the one capital word that opens the sentence is a name, and not only the first word."""
        token = self._tokens[at]
        bare = token.lower.removesuffix("'s").removesuffix("\u2019s")
        if bare != token.lower or token.text in self._known or bare in w.FIRST_NAMES or bare in w.PLACES:
            return True
        if bare in w.HONORIFICS or self._continues(at) or (token.text.isupper() and 2 <= len(bare) <= 8):
            return True
        common = bare in w.MASS_NOUNS or bare in w.ROLES or bare in VERBS or bare.endswith(("ly", "ing", "ed", "ion"))
        singular = self._grammar.singular_verb(at + 1)
        if bare.endswith("s"):  # "Penguins eat", but "Redis keeps": the verb agrees with one thing
            return singular and not common
        return not common and (singular or self._grammar.verb(at + 1, after_noun=True))

    def _possessive(self, at: int) -> bool:
        if self._tokens[at].lower.endswith(_POSSESSIVE):
            return True
        mark = self._grammar.lower(at + 1)
        plural = mark in ("'", "\u2019") and self._tokens[at + 1].start == self._tokens[at].end
        return plural and self._tokens[at].lower.endswith("s")

    def _continues(self, at: int) -> int:
        """Return the number of tokens after ``at`` that belong to the same name: 0 ends it."""
        if at + 1 >= len(self._tokens) or self._grammar.measured(at + 1):
            return 0
        token, following = self._tokens[at], self._tokens[at + 1]
        if following.text == "." and following.start == token.end and self._abbreviates(at):
            particle = self._grammar.lower(at + 2) in w.NAME_PARTICLES and self._grammar.capital(at + 3)
            return 2 if self._grammar.capital(at + 2) else 3 if particle else 0
        if following.start - token.end > 2:
            return 0
        if following.capital and (following.lower not in w.OPENERS or following.text.isupper()):
            return 0 if following.lower in w.CALENDAR else 1
        if following.kind == "number":
            return 1 if following.text.isdigit() and len(following.text) <= 4 and self._numbers_name(at + 1) else 0
        return self._connector(at)

    def _abbreviates(self, at: int) -> bool:
        token = self._tokens[at]
        return (len(token.text) == 1 and token.capital) or token.lower in w.ABBREVIATIONS

    def _numbers_name(self, at: int) -> bool:
        """Return whether the number belongs to the name: it does in "Apollo 11", not in "Apollo 11 days later"."""
        return not self._grammar.plain(at + 1) or self._grammar.verb(at + 1, after_noun=True)

    def _connector(self, at: int) -> int:
        """Return the length of a connector: "de", "&", and "of" after a word that begins such names, before a
        capital.
        """
        link, grammar = self._grammar.lower(at + 1), self._grammar
        if (link in w.NAME_PARTICLES or link == "&") and grammar.capital(at + 2):
            return 2
        if link != "of" or self._tokens[at].lower not in w.OF_HEADS:
            return 0
        if grammar.capital(at + 2) and not closed(grammar.lower(at + 2)):
            return 2
        return 3 if grammar.lower(at + 2) == "the" and grammar.capital(at + 3) else 0
