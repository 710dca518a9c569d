"""Word classes in context: verb or noun, closed class or open, judged from a word and its neighbours.

No probabilities and no training. An ambiguous word counts as a verb only if the following words show it, or if no other
word of the sentence can be the verb. Every check reads a few tokens, so it has constant cost.
"""

from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical import words as w
from graphtide.infra.models.local.english.lexical.dates import Measure
from graphtide.infra.models.local.english.lexical.text import WordToken
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_BEFORE_PARTICIPLE = frozenset({"last", "first", "best", "well", "long", "once", "newly"})
_MODALS = frozenset({"will", "would", "can", "could", "may", "might", "must", "shall", "should", "did", "does", "do"})
_PARTICLES = frozenset({"out", "up", "down", "off", "back", "away"})
_MAX_GROUP = 7


@dataclass(frozen=True, slots=True)
class VerbGroup:
    """A verb with its auxiliaries, up to token ``last``. ``be``: a copula. ``participle``: it has no auxiliary."""

    last: int
    text: str
    be: bool
    participle: bool


class Grammar:
    """Word classes of the tokens of one sentence; beyond its end every check is false."""

    def __init__(self, tokens: tuple[WordToken, ...], measures: dict[int, Measure]) -> None:
        self.tokens = tokens
        self.measures = measures
        self._sure_verb = any(map(_surely_verb, tokens))

    def lower(self, at: int) -> str:
        """Return the word at ``at`` in lower case, "" outside the sentence."""
        return self.tokens[at].lower if 0 <= at < len(self.tokens) else ""

    def capital(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].capital

    def measured(self, at: int) -> bool:
        """Return whether a date or a quantity starts here."""
        return at < len(self.tokens) and self.tokens[at].start in self.measures

    def plain(self, at: int) -> bool:
        """Return whether it is an uncapitalised word of no closed class."""
        word = at < len(self.tokens) and self.tokens[at].kind == "word" and not self.tokens[at].capital
        return word and not closed(self.lower(at))

    def verb(self, at: int, *, after_noun: bool, after_name: bool = False) -> bool:
        """Return whether a verb group starts here."""
        lower = self.lower(at)
        if lower in w.AUXILIARIES:
            return True
        form = VERBS.get(lower)
        if form is None:
            if is_gerund(lower) and not self.capital(at):
                return self.complement(at + 1) or self.plain(at + 1) or self._phrase(at + 1)
            return after_noun and _regular_past(lower) and not self.capital(at)
        if form.ambiguous or (form.bare and not form.finite):
            alone = form.finite and not self._sure_verb and (after_name or self._phrase(at + 1))
            return after_noun and (alone or self.complement(at + 1) or self._infinitive(at + 1))
        return after_noun or form.participle or form.finite

    def singular_verb(self, at: int) -> bool:
        """Return whether it is a third person singular; an ambiguous plural noun only without another verb near."""
        lower = self.lower(at)
        form = VERBS.get(lower)
        if form is None:
            return lower in ("is", "was", "has", "does")
        return lower.endswith("s") and form.finite and not (form.ambiguous and self._sure_verb)

    def complement(self, at: int) -> bool:
        """Return whether the token can only complete a verb: a determiner, a name, a number."""
        lower = self.lower(at)
        opens_noun = lower in w.DETERMINERS or lower in w.POSSESSIVES or lower in w.NUMBER_WORDS
        number = at < len(self.tokens) and self.tokens[at].kind == "number"
        return opens_noun or number or self.capital(at) or self.measured(at)

    def noun(self, at: int, first: int) -> bool:
        """Return whether the common noun phrase that began at ``first`` includes this token."""
        if at >= len(self.tokens) or self.measured(at):
            return False
        token = self.tokens[at]
        if token.kind != "word" or token.capital:
            return token.kind == "number" or (token.capital and (at == 0 or self._nationality(at)))
        if closed(token.lower) and token.lower not in w.NUMBER_WORDS and token.lower not in w.PLAIN_ADJECTIVES:
            return False
        if at == first:
            return True
        adverb = token.lower.endswith("ly") and token.lower not in w.LY_NOUNS and not self.plain(at + 1)
        if adverb or (is_gerund(token.lower) and (not self.plain(at + 1) or self.plain(at - 1))):
            return False
        return not self.verb(at, after_noun=True) or self._adjective(at)

    def verb_group(self, at: int) -> VerbGroup:
        """Return auxiliaries, "not", the main verb, "to" and a second verb; adverbs between them are left out."""
        words: list[str] = []
        be = main = False
        last, position = at, at
        while position < len(self.tokens) and len(words) < _MAX_GROUP:
            lower = self.lower(position)
            if not main and (self._adverb(position) or (words and self._before_participle(position))):
                position += 1
                continue
            if lower in w.AUXILIARIES and not main:
                be = lower in w.BE
            elif not main and self._main_verb(position, bool(words)):
                main = True
            elif main and lower == "to" and self._bare(position + 1):
                main = be = False
            elif lower not in w.NEGATIONS and not (main and lower in _PARTICLES):
                break
            words.append(lower)
            last, position = position, position + 1
        tail = words[-1] if words else ""
        participle = main and len(words) == 1 and not is_gerund(tail) and (tail not in VERBS or VERBS[tail].participle)
        return VerbGroup(last, " ".join(words), (be and not main) or tail in w.BE, participle)

    def _nationality(self, at: int) -> bool:
        return self.lower(at) in w.NATIONALITIES and not self.capital(at + 1)

    def _phrase(self, at: int) -> bool:
        """Return whether a preposition shows a verb (`The hut stands at …`) where no other word can be the verb."""
        return self.lower(at) in w.PREPOSITIONS and self.lower(at) != "of"

    def _infinitive(self, at: int) -> bool:
        return self.lower(at) == "to" and self._bare(at + 1)

    def _bare(self, at: int) -> bool:
        form = VERBS.get(self.lower(at))
        return form is not None and form.bare

    def _adverb(self, at: int) -> bool:
        lower = self.lower(at)
        return (lower in w.ADVERBS or lower.endswith("ly")) and lower not in VERBS and not self.capital(at)

    def _before_participle(self, at: int) -> bool:
        """Return whether it is an adverb before a participle ("was last seen", "is best known")."""
        form = VERBS.get(self.lower(at + 1))
        return self.lower(at) in _BEFORE_PARTICIPLE and form is not None and form.participle

    def _adjective(self, at: int) -> bool:
        """Return whether it is a participle after an adverb and before a noun ("the newly built drill")."""
        adverb = self.lower(at - 1).endswith("ly") or self.lower(at - 1) in _BEFORE_PARTICIPLE
        return adverb and at + 1 < len(self.tokens) and not closed(self.lower(at + 1))

    def _main_verb(self, at: int, after_auxiliary: bool) -> bool:
        token = self.tokens[at]
        if (token.capital and at) or token.lower in w.AUXILIARIES or token.kind != "word":
            return False
        form = VERBS.get(token.lower)
        if form is None:
            return (
                _regular_past(token.lower)
                or is_gerund(token.lower)
                or (self.lower(at - 1) in _MODALS and not closed(token.lower))
            )
        return not after_auxiliary or form.participle or (form.bare and self.lower(at - 1) not in w.BE)


def closed(word: str) -> bool:
    """Return whether a word belongs to a closed class, so to grammar and not to a name or a noun."""
    return word in w.OPENERS or word in w.NEGATIONS


def _regular_past(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4


def is_gerund(word: str) -> bool:
    """Return whether the word is the -ing form of a known verb."""
    return word.endswith("ing") and _stem_ing(word) in VERBS


def _surely_verb(token: WordToken) -> bool:
    form = VERBS.get(token.lower)
    return token.lower in w.AUXILIARIES or (form is not None and form.finite and not form.ambiguous)


def _stem_ing(word: str) -> str:
    stem = word.removesuffix("ing")
    if stem + "e" in VERBS:
        return stem + "e"
    return stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] and stem not in VERBS else stem
