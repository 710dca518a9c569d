"""Items of a sentence, made of its tokens: names, dates, quantities, noun phrases, verb groups and small words.

One pass from left to right with a look-ahead of a few tokens, so the cost is linear in the tokens. Every item is a span
of the text; only a possessive ending and a title before a full name are left out of a name.
"""

from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical import words as w
from graphtide.infra.models.local.english.lexical.dates import Measure
from graphtide.infra.models.local.english.lexical.grammar import Grammar
from graphtide.infra.models.local.english.lexical.names import MAX_NAME_TOKENS, NameFinder
from graphtide.infra.models.local.english.lexical.naming import WORK, type_of
from graphtide.infra.models.local.english.lexical.text import WordToken

MAX_TERM_TOKENS = 6
_QUOTES = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb"}
_MARKS = {",": "comma", "(": "open", ")": "close", "[": "open", "]": "close"}
_SKIPPED_MARKS = frozenset("'\u2019*_`#")
_SMALL_WORDS: dict[str, str] = {
    **dict.fromkeys(w.SUBORDINATORS, "stop"),
    **dict.fromkeys(w.PREPOSITIONS, "preposition"),
    **dict.fromkeys(w.CONJUNCTIONS, "conjunction"),
    **dict.fromkeys(w.PERSON_PRONOUNS | w.THING_PRONOUNS | w.OTHER_PRONOUNS, "pronoun"),
    **dict.fromkeys(w.DETERMINERS | w.POSSESSIVES, "determiner"),
    **dict.fromkeys(w.RELATIVES, "relative"),
}


@dataclass(slots=True)
class Item:
    """One item of a sentence.

    ``kind`` is one of name, date, quantity, dimension, term, pronoun, verb, preposition, conjunction, comma, relative,
    open, close and stop. ``owner`` is the owner of a term ("Skarv Island's harbour", "the director of Skarv Station",
    "its drill"); "@station" is the owner in "the station's harbour", which the text must resolve. ``role`` is the noun
    before a name.
    """

    kind: str
    text: str
    start: int
    end: int
    type: str = ""
    head: str = ""
    article: str = ""
    owner: str = ""
    iso: str | None = None
    be: bool = False
    participle: bool = False
    possessive: bool = False
    compound: bool = False
    role: "Item | None" = None


class SentenceReader:
    """Reader of one sentence. ``known`` are words with a capital inside sentences, not only at their start."""

    def __init__(
        self, text: str, tokens: tuple[WordToken, ...], measures: dict[int, Measure], known: frozenset[str]
    ) -> None:
        self._text = text
        self._tokens = tokens
        self._grammar = Grammar(tokens, measures)
        self._names = NameFinder(text, self._grammar, known)
        self._items: list[Item] = []

    def read(self) -> list[Item]:
        """Return the items of the sentence in order."""
        at = 0
        while at < len(self._tokens):
            at = self._step(at)
        return self._items

    def _step(self, at: int) -> int:
        token = self._tokens[at]
        if self._grammar.measured(at):
            return self._measure(at, self._grammar.measures[token.start])
        if token.kind == "number":
            return self._term(at)
        if token.kind != "word":
            return self._mark(at)
        if self._names.starts(at):
            name = self._names.read(at)
            self._push("name", at, name.last).possessive = name.possessive
            self._items[-1].text, self._items[-1].type = name.text, type_of(name.text)
            return name.last + 1
        return self._word(at)

    def _push(self, kind: str, first: int, last: int) -> Item:
        """Add the item of tokens ``first``..``last`` (inclusive)."""
        start, end = self._tokens[first].start, self._tokens[last].end
        self._items.append(Item(kind, self._text[start:end], start, end))
        return self._items[-1]

    def _measure(self, at: int, measure: Measure) -> int:
        last = at
        while last + 1 < len(self._tokens) and self._tokens[last + 1].start < measure.end:
            last += 1
        item = self._push(measure.type, at, last)
        item.text, item.type, item.iso = measure.name, measure.type, measure.iso
        return last + 1

    def _mark(self, at: int) -> int:
        mark = self._tokens[at].text
        if mark in _QUOTES:
            return self._quotation(at, _QUOTES[mark])
        if mark not in _SKIPPED_MARKS:
            self._push(_MARKS.get(mark, "stop"), at, at)
        return at + 1

    def _quotation(self, at: int, closing: str) -> int:
        """Read a quotation: a short one in title case is a work; of any other only the quotation mark is skipped."""
        last = at + 1
        while last < min(len(self._tokens), at + 2 + MAX_NAME_TOKENS) and self._tokens[last].text != closing:
            last += 1
        inside = self._tokens[at + 1 : last]
        closed = last < len(self._tokens) and self._tokens[last].text == closing
        titled = all(t.capital or t.kind == "number" or len(t.text) <= 3 for t in inside)
        if not closed or not inside or not inside[0].capital or not titled or inside[-1].kind == "mark":
            return at + 1
        self._push("name", at + 1, last - 1).type = WORK
        return last + 1

    def _word(self, at: int) -> int:
        lower = self._tokens[at].lower
        kind = _SMALL_WORDS.get(lower)
        before = self._items[-1] if self._items else None
        if lower in w.DIMENSION_NOUNS and before is not None and before.kind == "quantity":
            self._push("dimension", at, at).text = lower
            return at + 1
        if kind == "determiner":
            return self._term(at)
        after_name = (
            before is not None and before.kind == "name" and not before.possessive and self._touches(before, at)
        )
        after_noun = before is not None and before.kind != "verb"
        opens = at == 0 and self._grammar.complement(1)
        if self._grammar.verb(at, after_noun=after_noun or opens, after_name=after_name):
            return self._verb(at)
        until_then = kind == "preposition" and self._grammar.lower(at + 1) in w.TIMES
        if kind is not None:
            if not until_then:
                self._push(kind, at, at).text = lower
            return at + 1 + until_then
        if lower in w.ADVERBS or (lower.endswith("ly") and len(lower) > 4):
            return at + 1
        return self._term(at)

    def _touches(self, item: Item, at: int) -> bool:
        """Return whether only a possessive apostrophe separates an item and this token."""
        before = self._tokens[at - 1] if at else None
        return before is not None and (
            before.end == item.end or (before.text in "'\u2019" and before.start == item.end)
        )

    def _verb(self, at: int) -> int:
        group = self._grammar.verb_group(at)
        item = self._push("verb", at, group.last)
        item.text, item.be, item.participle = group.text, group.be, group.participle
        return group.last + 1

    def _term(self, at: int) -> int:
        """Read a noun phrase of common words: article or possessive, then words that are neither small words
        nor verbs.
        """
        lower = self._tokens[at].lower
        owner = lower if lower in w.POSSESSIVES else ""
        article = "its" if owner else lower if lower in w.DETERMINERS else ""
        first = at + 1 if article else at
        last = first - 1
        while last + 1 - first < MAX_TERM_TOKENS and self._grammar.noun(last + 1, first):
            last += 1
        if last >= first:
            return self._finish_term(first, last, article, owner)
        if not self._grammar.capital(at + 1) and not self._grammar.measured(at + 1):  # "this" alone, or a lone symbol
            self._push("pronoun" if article else "stop", at, at).text = lower
        return at + 1

    def _finish_term(self, first: int, last: int, article: str, owner: str) -> int:
        """Add the phrase with its owner, before it (a name, "the station's") or after it ("of X")."""
        before = self._items[-1] if self._items else None
        compound = False
        if before is not None and before.kind == "name" and not article and self._touches(before, first):
            owner, compound = before.text, not before.possessive
        for at in range(first, last):
            if not owner and self._tokens[at].lower.endswith(("'s", "\u2019s")):
                owner, first = "@" + self._tokens[at].lower[:-2], at + 1
        head, after = self._tokens[last].lower, last + 1
        if not owner and self._grammar.lower(after) == "of" and after + 1 < len(self._tokens):
            owner, after, last = self._of(after, last)
        item = self._push("term", first, last)
        item.head, item.article, item.owner, item.compound = head, article, owner, compound
        return after

    def _of(self, of: int, last: int) -> tuple[str, int, int]:
        """Return the addition of "of" to the noun before it: (owner, position after it, last token of the phrase)."""
        after = of + 2 if self._grammar.lower(of + 1) == "the" and of + 2 < len(self._tokens) else of + 1
        if self._names.starts(after) and not self._grammar.measured(after):
            name = self._names.read(after)
            return name.text, name.last + 1, last
        end = after
        while end - of <= 4 and self._grammar.noun(end, after) and self._tokens[end].kind == "word":
            end += 1
        return ("", end, end - 1) if end > after else ("", of, last)
