"""From the tokens of a sentence to its items: names, dates, quantities, noun phrases, verb groups and the small words.

Not a parser: one pass from left to right with a look-ahead of a few tokens, so the cost is linear in the tokens.
Every item is a span of the text; only a possessive ending and a title before a full name are left out of a name.
"""

from dataclasses import dataclass

from infra.models.offline import words as w
from infra.models.offline.dates import Measure
from infra.models.offline.naming import WORK, type_of, without_title
from infra.models.offline.text import Token
from infra.models.offline.verbs import VERBS

MAX_NAME_TOKENS = 8
MAX_TERM_TOKENS = 6
_BEFORE_PARTICIPLE = frozenset({"last", "first", "best", "well", "long", "once", "newly"})
_MODALS = frozenset({"will", "would", "can", "could", "may", "might", "must", "shall", "should", "did", "does", "do"})
_PARTICLES = frozenset(["out", "up", "down", "off", "back", "away"])
_QUOTES = {'"': '"', "\u201c": "\u201d", "\u00ab": "\u00bb"}


@dataclass(slots=True)
class Item:
    """One step of a sentence.

    ``kind`` is one of name, date, quantity, term, pronoun, verb, preposition, conjunction, comma, relative, open,
    close and stop.


    ``owner`` is whose a term is ("Skarv Island's harbour", "the director of Skarv Station", "its drill"); "@station"
    is the owner in "the station's harbour", which the text must resolve. ``role`` is the noun before a name.
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
    """Reads one sentence. ``known`` are words seen with a capital inside sentences, so not only because one began."""

    def __init__(
        self, text: str, tokens: tuple[Token, ...], measures: dict[int, Measure], known: frozenset[str]
    ) -> None:
        self._text = text
        self._tokens = tokens
        self._measures = measures
        self._known = known
        self._items: list[Item] = []
        self._sure_verb = any(map(_surely_verb, tokens))

    def read(self) -> list[Item]:
        """The items of the sentence in order."""
        at = 0
        while at < len(self._tokens):
            at = self._step(at)
        return self._items

    def _step(self, at: int) -> int:
        token = self._tokens[at]
        if token.start in self._measures:
            return self._measure(at, self._measures[token.start])
        if token.kind == "number":
            return self._term(at)
        if token.kind != "word":
            return self._mark(at)
        if self._name_starts(at):
            return self._name(at)
        return self._word(at)

    def _push(self, kind: str, first: int, last: int, **more: str | bool | None) -> int:
        """Adds the item of tokens ``first``..``last`` (inclusive) and returns the position after it."""
        start, end = self._tokens[first].start, self._tokens[last].end
        item = Item(kind, self._text[start:end], start, end)
        for key, value in more.items():
            setattr(item, key, value)
        self._items.append(item)
        return last + 1

    def _measure(self, at: int, measure: Measure) -> int:
        last = at
        while last + 1 < len(self._tokens) and self._tokens[last + 1].start < measure.end:
            last += 1
        return self._push(measure.type, at, last, text=measure.name, type=measure.type, iso=measure.iso)

    def _mark(self, at: int) -> int:
        mark = self._tokens[at].text
        if mark in _QUOTES:
            return self._quotation(at, _QUOTES[mark])
        kinds = {",": "comma", "(": "open", ")": "close", "[": "open", "]": "close"}
        if mark in ".'\u2019*_`#" and mark != ".":
            return at + 1
        return self._push(kinds.get(mark, "stop"), at, at)

    def _quotation(self, at: int, closing: str) -> int:
        """A short quotation in title case is a work; of any other only the quotation mark is skipped."""
        last = at + 1
        while last < min(len(self._tokens), at + 2 + MAX_NAME_TOKENS) and self._tokens[last].text != closing:
            last += 1
        inside = self._tokens[at + 1 : last]
        closed = last < len(self._tokens) and self._tokens[last].text == closing
        titled = [t for t in inside if t.capital or t.kind == "number" or len(t.text) <= 3]
        if not closed or not inside or not inside[0].capital or len(titled) < len(inside) or inside[-1].kind == "mark":
            return at + 1
        self._push("name", at + 1, last - 1, type=WORK)
        return last + 1

    # names

    def _opens(self, at: int) -> bool:
        return at == 0 or self._tokens[at - 1].text in (":", '"', "\u201c", "#", "-", "*", "|", "\u2022", "(", ".")

    def _name_starts(self, at: int) -> bool:
        token = self._tokens[at]
        if not token.capital or token.lower in w.CALENDAR:
            return False
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        joined = following is not None and following.capital and following.lower not in w.OPENERS
        if token.lower in w.OPENERS and token.text.isupper() and len(token.text) > 1:
            return not joined and token.text in self._known and token.lower not in ("the", "a", "an", "in", "of", "on")
        if token.lower in w.OPENERS and not (joined and token.lower in _ADJECTIVES):
            return False
        if token.lower in w.NATIONALITIES and not joined:
            return False
        if joined or not self._opens(at):
            return len(token.text) > 1 or joined or (following is not None and following.text == ".")
        return self._opens_with_name(at)

    def _opens_with_name(self, at: int) -> bool:
        """Whether the one capital word that opens the sentence is a name, and not only the first word."""
        token = self._tokens[at]
        bare = token.lower.removesuffix("'s").removesuffix("\u2019s")
        if bare != token.lower or token.text in self._known or bare in w.FIRST_NAMES or bare in w.PLACES:
            return True
        if bare in w.HONORIFICS or self._joint(at):
            return True
        common = (
            bare in w.MASS_NOUNS or bare in w.ROLES or bare in VERBS or bare.endswith(("s", "ly", "ing", "ed", "ion"))
        )
        return (not common and self._verb_at(at + 1, after_noun=True) and not token.text.isupper()) or self._is_acronym(
            at
        )

    def _is_acronym(self, at: int) -> bool:
        text = self._tokens[at].text
        return text.isupper() and 2 <= len(text) <= 8

    def _joint(self, at: int) -> bool:
        """The next token goes on with a name: a particle, or "of" after a word that such names begin with."""
        return self._connector(at, at + 1) > 0

    def _name(self, at: int) -> int:
        last = at
        while last - at < MAX_NAME_TOKENS and not self._ends_in_possessive(last):
            step = self._continues(last)
            if not step:
                break
            last += step
        token = self._tokens[last]
        text = self._text[self._tokens[at].start : token.end]
        possessive = self._ends_in_possessive(last)
        for ending in ("'s", "\u2019s", "'", "\u2019"):
            text = text.removesuffix(ending)
        text = without_title(" ".join(text.split()))
        return self._push("name", at, last, text=text, type=type_of(text), possessive=possessive)

    def _ends_in_possessive(self, at: int) -> bool:
        if self._tokens[at].lower.endswith(("'s", "\u2019s")):
            return True
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        plural = following is not None and following.text in "'\u2019" and following.start == self._tokens[at].end
        return plural and self._tokens[at].lower.endswith("s")

    def _continues(self, at: int) -> int:
        """How many tokens after ``at`` belong to the name that ``at`` belongs to: 0 ends it."""
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if following is None or following.start in self._measures:
            return 0
        initial = following.text == "." and following.start == self._tokens[at].end and self._abbreviates(at)
        if initial:
            return 2 if at + 2 < len(self._tokens) and self._tokens[at + 2].capital else 0
        if following.start - self._tokens[at].end > 2 or "\n\n" in self._text[self._tokens[at].end : following.start]:
            return 0
        if following.capital and (following.lower not in w.OPENERS or following.text.isupper()):
            return 0 if following.lower in w.CALENDAR else 1
        if following.kind == "number" and following.text.isdigit() and len(following.text) <= 4:
            return 1 if self._numbers_name(at + 1) else 0
        return self._connector(at, at + 1)

    def _abbreviates(self, at: int) -> bool:
        token = self._tokens[at]
        return (len(token.text) == 1 and token.capital) or token.lower in w.ABBREVIATIONS

    def _numbers_name(self, at: int) -> bool:
        """ "Apollo 11" is a name; the 11 of "Apollo 11 days later" is not."""
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        noun = following is not None and following.kind == "word" and not self._closed(following.lower)
        return not noun or self._verb_at(at + 1, after_noun=True)

    def _connector(self, at: int, after: int) -> int:
        tokens = self._tokens
        if after + 1 >= len(tokens):
            return 0
        link, following = tokens[after], tokens[after + 1]
        if (link.lower in w.NAME_PARTICLES or link.text == "&") and following.capital:
            return 2
        if link.lower == "of" and tokens[at].lower in w.OF_HEADS:
            if following.capital and following.lower not in w.OPENERS:
                return 2
            if following.lower == "the" and after + 2 < len(tokens) and tokens[after + 2].capital:
                return 3
        return 0

    # other words

    @staticmethod
    def _closed(word: str) -> bool:
        return word in w.OPENERS or word in w.NEGATIONS

    def _word(self, at: int) -> int:
        lower = self._tokens[at].lower
        kind = _SMALL_WORDS.get(lower)
        if lower in w.DIMENSION_NOUNS and self._items and self._items[-1].kind == "quantity":
            return self._push("dimension", at, at, text=lower)
        if kind == "determiner":
            return self._term(at)
        if self._verb_at(at, after_noun=bool(self._items)):
            return self._verb(at)
        if kind is not None:
            return self._push(kind, at, at, text=lower)
        if lower in w.ADVERBS or (lower.endswith("ly") and len(lower) > 4):
            return at + 1
        return self._term(at)

    def _verb_at(self, at: int, *, after_noun: bool) -> bool:
        if at >= len(self._tokens):
            return False
        lower = self._tokens[at].lower
        if lower in w.AUXILIARIES:
            return True
        form = VERBS.get(lower)
        if form is None:
            return after_noun and lower.endswith("ed") and len(lower) > 4 and not self._tokens[at].capital
        if form.ambiguous or (form.bare and not form.finite):
            completed = self._complement_at(at + 1) or self._infinitive_at(at + 1)
            return after_noun and (completed or (form.finite and not self._sure_verb and self._phrase_at(at + 1)))
        return after_noun or form.participle or form.finite

    def _infinitive_at(self, at: int) -> bool:
        return at + 1 < len(self._tokens) and self._tokens[at].lower == "to" and self._bare_at(at + 1)

    def _phrase_at(self, at: int) -> bool:
        """ "The hut stands at …": where no other word of the sentence can be its verb, a preposition shows it too."""
        return at < len(self._tokens) and self._tokens[at].lower in w.PREPOSITIONS and self._tokens[at].lower != "of"

    def _complement_at(self, at: int) -> bool:
        """What follows can only complete a verb: a determiner, a name, a number, a pronoun."""
        if at >= len(self._tokens):
            return False
        token = self._tokens[at]
        if token.kind == "number" or token.start in self._measures:
            return True
        opens_noun = token.lower in w.DETERMINERS or token.lower in w.POSSESSIVES or token.lower in w.NUMBER_WORDS
        return token.capital or opens_noun

    def _verb(self, at: int) -> int:
        """Auxiliaries, "not", the main verb, "to" and a second verb; adverbs between them are left out."""
        words: list[str] = []
        be = main = False
        last, position = at, at
        while position < len(self._tokens) and len(words) < 7:
            lower = self._tokens[position].lower
            if lower in w.AUXILIARIES and not main:
                be = lower in w.BE
            elif lower in w.NEGATIONS:
                pass
            elif (
                self._tokens[position].kind == "word"
                and (lower in w.ADVERBS or lower.endswith("ly"))
                and lower not in VERBS
            ):
                if main and lower not in _PARTICLES:
                    break
                if not main:
                    position += 1
                    continue
            elif words and not main and lower in _BEFORE_PARTICIPLE and self._participle_at(position + 1):
                position += 1
                continue
            elif not main and self._main_verb(position, bool(words)):
                main = True
            elif main and lower == "to" and self._bare_at(position + 1):
                main = False
                be = False
            else:
                break
            words.append(lower)
            last, position = position, position + 1
        tail = words[-1] if words else ""
        copular = (be and not main) or tail in w.BE
        participle = main and len(words) == 1 and (tail not in VERBS or VERBS[tail].participle)
        self._push("verb", at, last, text=" ".join(words), be=copular, participle=participle)
        return last + 1

    def _participle_at(self, at: int) -> bool:
        form = VERBS.get(self._tokens[at].lower) if at < len(self._tokens) else None
        return form is not None and form.participle

    def _main_verb(self, at: int, after_auxiliary: bool) -> bool:
        lower = self._tokens[at].lower
        if self._tokens[at].capital or lower in w.AUXILIARIES or self._tokens[at].kind != "word":
            return False
        form = VERBS.get(lower)
        if form is None:
            modal = at > 0 and self._tokens[at - 1].lower in _MODALS and not self._closed(lower)
            return modal or (lower.endswith("ed") and len(lower) > 4)
        if not after_auxiliary:
            return True
        return form.participle or (form.bare and self._tokens[at - 1].lower not in w.BE)

    def _bare_at(self, at: int) -> bool:
        form = VERBS.get(self._tokens[at].lower) if at < len(self._tokens) else None
        return form is not None and form.bare

    # noun phrases

    def _term(self, at: int) -> int:
        """A noun phrase of common words: article or possessive, then what is no small word and no verb."""
        article, owner, first = "", "", at
        lower = self._tokens[at].lower
        if lower in w.DETERMINERS or lower in w.POSSESSIVES:
            article = "its" if lower in w.POSSESSIVES else lower
            owner = lower if lower in w.POSSESSIVES else ""
            first += 1
        last = first - 1
        while last + 1 < len(self._tokens) and last + 1 - first < MAX_TERM_TOKENS and self._noun_at(last + 1, first):
            last += 1
        if last < first:
            return self._lone(at, article)
        return self._finish_term(first, last, article, owner)

    def _lone(self, at: int, article: str) -> int:
        """A determiner without a noun of its own: before a name it is dropped, alone it is a pronoun."""
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        if following is not None and (following.capital or following.start in self._measures):
            return at + 1
        return self._push("pronoun" if article else "stop", at, at, text=self._tokens[at].lower)

    def _noun_at(self, at: int, first: int) -> bool:
        token = self._tokens[at]
        if token.start in self._measures:
            return False
        if token.kind == "number":
            return True
        if token.kind != "word" or (token.capital and token.lower not in w.NATIONALITIES and at > 0):
            return False
        if token.capital and at > 0 and self._name_starts(at):
            return False
        if self._closed(token.lower) and token.lower not in w.NUMBER_WORDS and token.lower not in _ADJECTIVES:
            return False
        if at == first:
            return token.lower not in w.AUXILIARIES
        if token.lower.endswith("ing") and _stem_ing(token.lower) in VERBS and not self._plain_at(at + 1):
            return False
        return not self._verb_at(at, after_noun=True) or self._is_adjective(at)

    def _plain_at(self, at: int) -> bool:
        """A word of no closed class follows, so that what is before it can belong to the same noun."""
        token = self._tokens[at] if at < len(self._tokens) else None
        return token is not None and token.kind == "word" and not token.capital and not self._closed(token.lower)

    def _is_adjective(self, at: int) -> bool:
        """ "the newly built drill": a participle after an adverb, before a noun."""
        before = self._tokens[at - 1].lower
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        adverb = before.endswith("ly") or before in _BEFORE_PARTICIPLE
        return adverb and following is not None and not self._closed(following.lower)

    def _finish_term(self, first: int, last: int, article: str, owner: str) -> int:
        before = self._items[-1] if self._items else None
        adjacent = before is not None and before.kind == "name" and first > 0 and self._adjacent(before, first)
        compound = False
        if before is not None and adjacent and not article:
            owner, compound = before.text, not before.possessive
        for at in range(first, last):
            if self._tokens[at].lower.endswith(("'s", "\u2019s")) and not owner:
                owner, first = "@" + self._tokens[at].lower[:-2], at + 1
        head = self._tokens[last].lower
        position = last + 1
        if not owner and position + 1 < len(self._tokens) and self._tokens[position].lower == "of":
            owner, position, last = self._of(position, last)
        return max(
            self._push("term", first, last, head=head, article=article, owner=owner, compound=compound), position
        )

    def _adjacent(self, item: Item, at: int) -> bool:
        return self._tokens[at - 1].end == item.end or (
            self._tokens[at - 1].text in "'\u2019" and self._tokens[at - 1].start == item.end
        )

    def _of(self, of: int, last: int) -> tuple[str, int, int]:
        """What "of" adds to the noun before it: (owner, position after it, last token of the phrase)."""
        after = of + 1
        if self._tokens[after].lower == "the" and after + 1 < len(self._tokens):
            after += 1
        if self._tokens[after].kind == "word" and self._name_starts(after):
            end = self._name(after)
            return self._items.pop().text, end, last
        end = after
        while (
            end < len(self._tokens) and end - of <= 4 and self._noun_at(end, after) and self._tokens[end].kind == "word"
        ):
            end += 1
        return ("", end, end - 1) if end > after else ("", of, last)


def _surely_verb(token: Token) -> bool:
    form = VERBS.get(token.lower)
    return token.lower in w.AUXILIARIES or (form is not None and form.finite and not form.ambiguous)


def _stem_ing(word: str) -> str:
    stem = word.removesuffix("ing")
    if stem + "e" in VERBS:
        return stem + "e"
    return stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] and stem not in VERBS else stem


_ADJECTIVES = frozenset(
    ["new", "old", "early", "late", "next", "last", "first", "young", "several", "most", "own", "other"]
)
_SMALL_WORDS: dict[str, str] = {
    **dict.fromkeys(w.SUBORDINATORS, "stop"),
    **dict.fromkeys(w.PREPOSITIONS, "preposition"),
    **dict.fromkeys(w.CONJUNCTIONS, "conjunction"),
    **dict.fromkeys(w.RELATIVES, "relative"),
    **dict.fromkeys(w.PERSON_PRONOUNS | w.THING_PRONOUNS | w.OTHER_PRONOUNS, "pronoun"),
    **dict.fromkeys(w.DETERMINERS | w.POSSESSIVES, "determiner"),
}
_SMALL_WORDS["that"] = "relative"
