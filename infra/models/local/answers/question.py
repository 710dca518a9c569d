"""The plan of a question: its kind, its terms by weight, its dates, and the options that it compares.

Rules on the question's words alone; no model. Invariant: the plan depends on the question's text alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from graphtide.graph.retrieval.question_words import MONTHS
from graphtide.infra.models.local.answers.thesaurus import WEAK, opposites_of, synonyms_of
from graphtide.infra.models.local.answers.values import days_in, has_phrase
from graphtide.infra.models.local.answers.words import (
    IRREGULAR,
    NUMBER_WORDS,
    STOP_WORDS,
    Word,
    key_of,
    word_set,
    words_of,
)
from graphtide.infra.models.local.english.lexical.verbs import VERBS


class Kind(StrEnum):
    """The type of the answer that a question asks for."""

    PERSON = "person"
    DATE = "date"
    PLACE = "place"
    QUANTITY = "quantity"
    REASON = "reason"
    YES_NO = "yes or no"
    CHOICE = "choice"
    VERSION = "version"
    ADDRESS = "address"
    LIST = "list"
    SUMMARY = "summary"
    THING = "thing"


class TermKind(StrEnum):
    NAME = "name"
    CODE = "code"
    WORD = "word"
    FOCUS = "focus"
    WEAK = "weak"
    IMPLIED = "implied"
    """The type of the answer expresses it already: "heavy" asks for a weight."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the question. `same` are words that it accepts instead: "handled or solved"."""

    text: str
    key: str
    kind: TermKind
    synonyms: frozenset[str] = frozenset()
    start: int = 0
    same: frozenset[str] = frozenset()

    @property
    def coded(self) -> bool:
        """Return whether it has a digit."""
        return any(char.isdigit() for char in self.text)

    @property
    def verb(self) -> bool:
        """Return whether the word is a form of a common verb in the past, or after an auxiliary."""
        return self.text in VERBS or self.text in IRREGULAR or (self.text.endswith("ed") and self.text.islower())

    @property
    def hard(self) -> bool:
        """Return whether evidence without this term is about something else."""
        return self.kind in (TermKind.NAME, TermKind.CODE)


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit on the values asked for: "more than 7 pounds" has the sign 1 and the value 7."""

    sign: int
    value: float

    def admits(self, value: float) -> bool:
        return value > self.value if self.sign > 0 else value < self.value


@dataclass(frozen=True, slots=True)
class QuestionPlan:
    """See the module. `measures` are the kinds of units that fit a quantity; empty: any number."""

    text: str
    kind: Kind
    terms: tuple[Term, ...]
    measures: frozenset[str] = frozenset()
    dates: tuple[tuple[int, int, int], ...] = ()
    options: tuple[frozenset[str], ...] = ()
    alternatives: bool = False
    plural: bool = False
    present: bool = False
    """It asks what is true now: "who is", "where does"."""
    pairs: tuple[tuple[str, str], ...] = ()
    """Keys of adjacent words that name one thing: "rain sensor", "Hedvig Lund"."""
    date_keys: frozenset[str] = frozenset()
    """Keys of the words of its dates."""
    attribute: str = ""
    """Key of N in "what is the N of X"."""
    counted: str = ""
    """Key of the noun after "how many"."""
    done: bool | None = None
    """True if it asks for what is done, False for what is still open."""
    extreme: int = 0
    """1 if it asks for the greatest value, -1 for the least."""
    negated: bool = False
    """It asks for what is not so: "who does not work in"."""
    bound: Bound | None = None
    """It asks for rows with a greater or smaller value."""
    to_do: bool = False
    """It asks for what is to do: "what is still to do"."""
    deed: str = ""
    """Key of the verb of a question whether something is permitted: "may visitors enter the"."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(term.key for term in self.terms)


_HOW = {
    "long": ("duration", "length"), "much": ("money",), "many": (), "far": ("length", "duration"), "heavy": ("mass",),
    "deep": ("length",), "tall": ("length",), "high": ("length",), "wide": ("length",), "thick": ("length",),
    "old": ("duration",), "large": ("area", "length", "count"), "big": ("area", "length", "count"), "full": ("share",),
    "fast": ("duration", "length"), "hot": ("temperature",), "warm": ("temperature",), "cold": ("temperature",),
    "often": ("duration", "frequency"), "quickly": ("duration",), "soon": ("duration",), "late": (), "early": (),
    "small": ("area", "length"), "short": ("length", "duration"), "strong": (), "loud": (), "expensive": ("money",),
    "few": (), "little": (), "bright": (), "dangerous": (),
}  # fmt: skip
_QUANTITY_NOUNS = {
    "number": ("phone",), "telephone": ("phone",), "phone": ("phone",), "extension": (), "price": ("money",),
    "cost": ("money",), "costs": ("money",), "salary": ("money",), "budget": ("money",), "fee": ("money",),
    "weight": ("mass",), "length": ("length",), "height": ("length",), "depth": ("length",), "width": ("length",),
    "distance": ("length",), "area": ("area", "count"), "temperature": ("temperature",), "age": ("duration",),
    "duration": ("duration",), "speed": (), "pressure": (), "percentage": ("share",), "share": (), "amount": (),
    "size": (), "limit": (), "threshold": (), "capacity": (), "volume": ("volume",), "maximum": (), "minimum": (),
    "total": (), "score": (), "rate": (), "code": (), "pin": (), "port": (), "sum": ("money",), "deposit": ("money",),
    "rent": ("money",), "value": (), "insured": ("money",),
}  # fmt: skip
_DATE_NOUNS = word_set("""date day month year deadline time weekday season evening morning week hour""")
_PLACE_NOUNS = word_set("""address place location city town country street room floor shelf building village office""")
_PERSON_NOUNS = word_set("""person name author owner leader manager director engineer contact customer donor teacher""")
_AUXILIARIES = word_set("""is are was were do does did can could may must should has have had will would""")
_TITLES = word_set("""mr mrs ms miss dr prof professor sir""")
_COPULAS = word_set("""is are was were""")
STATES = {"open": False, "pending": False, "outstanding": False, "unfinished": False, "done": True, "finished": True}
_SUPERLATIVES = {
    word: sign
    for sign, words in ((1, "highest largest biggest longest tallest heaviest most oldest deepest hottest strongest"),
                        (-1, "lowest smallest shortest lightest least fewest cheapest coldest youngest newest"))
    for word in words.split()
}  # fmt: skip
_SUMMARIES = (
    "summarise", "summarize", "summary", "overview", "came out of", "outcome", "result of", "results of", "finding",
    "findings", "tell me about", "what happened", "problem with", "describe", "explain", "do we know", "is known",
    "catch me up", "status of", "learn about", "learned about",
)  # fmt: skip
_TO_DO = ("to do", "to be done", "left to do", "remains")
_BOUNDS = {
    word: sign
    for sign, words in ((1, "over above exceeding more greater higher longer heavier older later larger"),
                        (-1, "under below less fewer lower shorter lighter cheaper younger earlier smaller"))
    for word in words.split()
}  # fmt: skip
_CAUSES = word_set("cause causes caused reason reasons")
_CAUSING = word_set("caused causes triggered")
_NEGATIONS = word_set("not never isn't aren't wasn't weren't doesn't don't didn't hasn't haven't cannot can't won't")
_MODALS = word_set("may can must should could")
_BEFORE_OBJECTS = word_set("the a an in on at into with to my our your his her their any")
_FINDING = frozenset({"find", "show", "reveal", "learn"})
_COMPARATIVES = frozenset({"more", "less", "fewer", "first", "better", "worse", "most", "least"})
_NOT_COMPARATIVE = word_set(
    """number water after over other under ever never whether together either neither member paper letter
    winter summer newsletter december september october november customer river tower power user order
    controller manager leader her per for officer engineer partner server router printer computer weather
    quarter per chapter corner dinner offer answer cover register insurer roofer carpenter september master
    filter sister brother mother father daughter teacher poster center folder header rather former latter
    further"""
)
_SENTENCE_END = re.compile(r"[.?!](?=\s)")
_MEASURING = {"pay": "money", "pays": "money", "paid": "money", "cost": "money", "costs": "money", "earn": "money"}
_MAX_OPTION_WORDS, _MIN_DEED_WORDS = 8, 4
_IMPLIED = {
    "duration": "long last take need require hour minute day",
    "money": "cost price pay much charge",
    "mass": "heavy weigh weight",
    "length": "long tall high deep wide",
    "phone": "telephone phone number",
    "share": "full percentage",
    "area": "large big size area",
    "temperature": "temperature hot cold warm",
}
IMPLIED: dict[str, frozenset[str]] = {kind: frozenset(map(key_of, text.split())) for kind, text in _IMPLIED.items()}


def plan_of(question: str) -> QuestionPlan:
    """Return the plan of a question. Cost: linear in its length."""
    text = " ".join(question.split())
    words = words_of(text)
    asking = _asking(text)
    tokens = [word.text.lower() for word in words_of(asking)]
    kind, measures = _kind(asking, tokens)
    options, alternatives = _options(text)
    if options and not alternatives:
        kind = Kind.CHOICE
    dates = tuple(days_in(text))
    focus = _focus(tokens)
    causes = frozenset(map(key_of, _CAUSES | _CAUSING)) if kind is Kind.REASON else frozenset()
    bound = _bound(tokens) if kind in (Kind.PERSON, Kind.THING, Kind.LIST) else None
    weak = causes | frozenset(map(key_of, _bound_words(tokens) if bound else ()))
    if kind in (Kind.PERSON, Kind.THING, Kind.LIST):
        weak |= frozenset(key_of(token) for token in tokens if token in _SUPERLATIVES)
    terms = tuple(_terms(words, text, focus, measures, weak, kind is Kind.YES_NO))
    return QuestionPlan(
        text,
        kind,
        terms,
        measures,
        dates,
        options,
        alternatives,
        _plural(tokens, kind),
        _is_present(tokens),
        _pairs(words, text),
        _date_keys(words) if dates else frozenset(),
        _attribute(tokens),
        _counted(tokens),
        False if has_phrase(asking, _TO_DO) else next((STATES[token] for token in tokens if token in STATES), None),
        next((_SUPERLATIVES[token] for token in tokens if token in _SUPERLATIVES), 0),
        kind in (Kind.PERSON, Kind.THING, Kind.LIST) and not _NEGATIONS.isdisjoint(tokens),
        bound,
        has_phrase(asking, _TO_DO),
        _deed(tokens),
    )


def _bound_words(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the words of a limit, which the rows beyond it need not have."""
    yield from (token for token in tokens if token in _BOUNDS or token[0].isdigit())


def _bound(tokens: Sequence[str]) -> Bound | None:
    """Return the limit on a value, None without one."""
    for at, token in enumerate(tokens):
        sign = _BOUNDS.get(token, 0)
        if not sign:
            continue
        first = at + 1 + (tokens[at + 1 : at + 2] == ["than"])
        number = tokens[first].replace(",", "") if first < len(tokens) else ""
        if number.replace(".", "", 1).isdecimal() and number.isascii():
            return Bound(sign, float(number))
    return None


def _deed(tokens: Sequence[str]) -> str:
    """Return the key of the word before the object of a question with a modal verb, "" without one."""
    if len(tokens) < _MIN_DEED_WORDS or tokens[0] not in _MODALS:
        return ""
    end = next((at for at, token in enumerate(tokens[2:], 2) if token in _BEFORE_OBJECTS), 0)
    return key_of(tokens[end - 1]) if end > 2 else ""


def _asks_for_cause(tokens: Sequence[str]) -> bool:
    """Return whether it is "what caused …" or "what is the cause of …"."""
    if tokens[:1] != ["what"]:
        return False
    return tokens[1] in _CAUSING or (tokens[1] in _COPULAS and not _CAUSES.isdisjoint(tokens[2:5]))


def _date_keys(words: Sequence[Word]) -> frozenset[str]:
    """Return the keys of months, and of the numbers beside them."""
    months = {at for at, word in enumerate(words) if word.capital and word.text.lower() in MONTHS}
    days = {near for at in months for near in (at - 1, at + 1, at + 2) if 0 <= near < len(words) and words[near].coded}
    return frozenset(words[at].key for at in months | days)


def _attribute(tokens: Sequence[str]) -> str:
    """Return the key of the noun before "of" or "for" in "what is the …", "" if it says little."""
    if tokens[:1] != ["what"] or tokens[1:3] not in (["is", "the"], ["are", "the"], ["was", "the"], ["were", "the"]):
        return ""
    end = next((at for at, token in enumerate(tokens) if token in ("of", "for")), 0)
    if 3 < end == len(tokens) - 1 and not tokens[end - 1].endswith("ed"):
        end = 0
    key = key_of(tokens[end - 1]) if end > 3 else ""
    return "" if key in WEAK else key


def _counted(tokens: Sequence[str]) -> str:
    """Return the key of the noun after "how many", "" if it says little."""
    at = next((at for at, pair in enumerate(pairwise(tokens)) if pair == ("how", "many")), -1)
    if at < 0 or at + 2 >= len(tokens):
        return ""
    key = key_of(tokens[at + 2])
    return "" if key in WEAK or tokens[at + 2] in STOP_WORDS else key


def _asking(text: str) -> str:
    """Return the sentence that asks, the last one with a question mark, else the whole."""
    parts = [part.strip() for part in _sentences(text)]
    return next((part for part in reversed(parts) if part.endswith("?")), text)


def _sentences(text: str) -> list[str]:
    ends = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def _kind(asking: str, tokens: list[str]) -> tuple[Kind, frozenset[str]]:  # noqa: PLR0911 -- one return for each kind
    first = _first_wh(tokens)
    if len(tokens) > 1 and _asks_for_cause(tokens):
        return Kind.REASON, frozenset()
    if _asks_for_summary(asking, tokens) and first not in ("who", "when", "where"):
        return Kind.SUMMARY, frozenset()
    if first in ("who", "whom", "whose"):
        return Kind.PERSON, frozenset()
    if first == "when":
        return Kind.DATE, frozenset()
    if first == "where":
        return Kind.PLACE, frozenset()
    if first == "why":
        return Kind.REASON, frozenset()
    if first == "how":
        return _how(tokens)
    if first in ("which", "what"):
        return _of_noun(tokens, first)
    if tokens and tokens[0] in _AUXILIARIES:
        return Kind.YES_NO, frozenset()
    if tokens and tokens[0] in ("list", "name"):
        return Kind.LIST, frozenset()
    return Kind.THING, frozenset()


def _asks_for_summary(asking: str, tokens: list[str]) -> bool:
    if has_phrase(asking, _SUMMARIES):
        return True
    return tokens[:2] == ["what", "did"] and tokens[-1] in _FINDING


def _first_wh(tokens: list[str]) -> str:
    if tokens and tokens[0] in _AUXILIARIES:
        return ""
    return next(
        (t for t in tokens if t in ("who", "whom", "whose", "when", "where", "why", "how", "which", "what")), ""
    )


def _how(tokens: list[str]) -> tuple[Kind, frozenset[str]]:
    after = tokens[tokens.index("how") + 1] if tokens.index("how") + 1 < len(tokens) else ""
    if after not in _HOW:
        return Kind.THING, frozenset()
    rest = tokens[tokens.index("how") + 2 :]
    if "how" in rest:
        _, more = _how(rest)
        return Kind.QUANTITY, frozenset(_HOW[after]) | more
    if after in ("much", "many"):
        noun = tokens[tokens.index("how") + 2] if tokens.index("how") + 2 < len(tokens) else ""
        units = {"seconds", "minutes", "hours", "days", "weeks", "months", "years"}
        if noun in units:
            return Kind.QUANTITY, frozenset({"duration"})
        if after == "much" and noun not in _AUXILIARIES and noun not in ("money", "compensation", "it"):
            return Kind.QUANTITY, frozenset()
        money = {"money"} if after == "much" else set()
        return Kind.QUANTITY, frozenset(money)
    return Kind.QUANTITY, frozenset(_HOW[after]) - {"count"} if "count" not in _HOW[after] else frozenset()


def _of_noun(tokens: list[str], first: str) -> tuple[Kind, frozenset[str]]:  # noqa: PLR0911 -- one return for each kind
    """Return the kind of a question with `which` or `what` by the noun that it asks for."""
    at = tokens.index(first)
    noun = _head_noun(tokens, at)
    before = tokens[at - 1] if at else ""
    if noun in _DATE_NOUNS:
        return Kind.DATE, frozenset()
    if noun in _QUANTITY_NOUNS:
        measures = _QUANTITY_NOUNS[noun]
        if noun == "number" and not {"telephone", "phone", "mobile"} & set(tokens) and not _of_person(tokens):
            measures = ()
        return Kind.QUANTITY, frozenset(measures) - {"count"} if "count" not in measures else frozenset()
    if noun == "address":
        return Kind.ADDRESS, frozenset()
    if noun == "version":
        return Kind.VERSION, frozenset()
    if noun in _PLACE_NOUNS:
        return Kind.PLACE, frozenset()
    if noun in _PERSON_NOUNS:
        return Kind.PERSON, frozenset()
    if before in ("until", "since") and noun:
        return Kind.DATE, frozenset()
    money = {"insured", "cost", "costs", "pay", "paid", "price"} & set(tokens)
    if first == "what" and money and not _content_noun(tokens, at):
        return Kind.QUANTITY, frozenset({"money"})
    return Kind.THING, frozenset()


def _of_person(tokens: Sequence[str]) -> bool:
    """Return whether a number is asked for that belongs to one who does something: "number of the bee keeper"."""
    last = tokens[-1]
    return "of" in tokens and (last in _PERSON_NOUNS or (last.endswith(("er", "or", "ist")) and last not in VERBS))


def _content_noun(tokens: list[str], at: int) -> bool:
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    return after not in _AUXILIARIES


def _head_noun(tokens: list[str], at: int) -> str:
    """Return the noun after `which` or after `what is the`: the word before "of", a verb or the end."""
    rest = tokens[at + 1 :]
    if rest and rest[0] in _AUXILIARIES:
        if rest[0] not in _COPULAS:
            return ""
        rest = rest[1:]
        if rest and rest[0] in ("the", "a", "an", "our", "my", "your", "his", "her", "their"):
            rest = rest[1:]
        elif not rest or rest[0] not in _QUANTITY_NOUNS:
            return ""
    noun = ""
    for word in rest[:4]:
        if word in STOP_WORDS or word in _AUXILIARIES or (noun and word in VERBS):
            break
        noun = word
        if word in _DATE_NOUNS or word in _QUANTITY_NOUNS or word in _PLACE_NOUNS:
            break
    return noun


def _focus(tokens: list[str]) -> frozenset[str]:
    """Return the keys of the noun that names the kind of thing asked for: "which hospital", "which tickets"."""
    found = set()
    for at, token in enumerate(tokens):
        if token in ("which", "what") and at + 1 < len(tokens) and tokens[at + 1] not in _AUXILIARIES | STOP_WORDS:
            noun = _head_noun(tokens, at)
            if noun:
                found.add(key_of(noun))
    return frozenset(found)


def _plural(tokens: list[str], kind: Kind) -> bool:
    if kind is Kind.LIST or "to do" in " ".join(tokens):
        return True
    for at, word in enumerate(tokens):
        if word == "which" and at + 1 < len(tokens):
            return _head_noun(tokens, at).endswith("s") and not _head_noun(tokens, at).endswith("ss")
        if word in ("what", "who") and at + 1 < len(tokens):
            return tokens[at + 1] in ("are", "were", "all")
    return False


def _terms(
    words: Sequence[Word],
    text: str,
    focus: frozenset[str],
    measures: frozenset[str],
    weak: frozenset[str],
    either_way: bool,
) -> list[Term]:
    implied = frozenset().union(*(IMPLIED.get(kind, frozenset()) for kind in measures)) if measures else frozenset()
    starts = {0, *(match.end() + 1 for match in _SENTENCE_END.finditer(text))}
    either = _either(text)
    terms: dict[str, Term] = {}
    for word in words:
        if word.text.lower() in STOP_WORDS or word.key in terms:
            continue
        kind = TermKind.WEAK if word.key in weak else _term_kind(word, focus, implied, starts)
        same = either - {word.key} if word.key in either else frozenset()
        synonyms = synonyms_of(word.text) | (opposites_of(word.text) if either_way else frozenset())
        terms[word.key] = Term(word.text, word.key, kind, synonyms, word.start, same)
    return list(terms.values())


def _is_present(tokens: list[str]) -> bool:
    return not {"was", "were", "did", "had"} & set(tokens) and bool({"is", "are", "does", "do", "has"} & set(tokens))


def _pairs(words: Sequence[Word], text: str) -> tuple[tuple[str, str], ...]:
    """Return the keys of adjacent content words."""
    found = []
    for one, other in pairwise(words):
        between = text[one.start + len(one.text) : other.start]
        if between == " " and not {one.text.lower(), other.text.lower()} & STOP_WORDS:
            found.append((one.key, other.key))
    return tuple(found)


def _either(text: str) -> frozenset[str]:
    """Return the keys of two words in lower case joined by "or": either is enough."""
    words = words_of(text)
    for at in range(1, len(words) - 1):
        if words[at].text == "or" and words[at - 1].text.islower() and words[at + 1].text.islower():
            return frozenset({words[at - 1].key, words[at + 1].key})
    return frozenset()


def _term_kind(word: Word, focus: frozenset[str], implied: frozenset[str], starts: set[int]) -> TermKind:  # noqa: PLR0911 -- one return for each kind
    lower = word.text.lower()
    if word.coded:
        return TermKind.CODE
    if lower in _TITLES:
        return TermKind.WEAK
    if word.capital and word.start not in starts and lower not in MONTHS:
        return TermKind.NAME
    if word.key in implied:
        return TermKind.IMPLIED
    if word.key in WEAK:
        return TermKind.WEAK
    if word.key in focus:
        return TermKind.FOCUS
    if lower in NUMBER_WORDS:
        return TermKind.IMPLIED
    return TermKind.WORD


def _options(text: str) -> tuple[tuple[frozenset[str], ...], bool]:
    """Return the two options of a question, and whether they are alternatives of a yes-or-no question."""
    words = words_of(text)
    places = [at for at, word in enumerate(words) if word.text.lower() == "or"]
    if len(places) != 1:
        return (), False
    at = places[0]
    right = [word for word in words[at + 1 :] if word.text.lower() not in STOP_WORDS]
    left = _left_option(text, words[:at], len(right))
    if not left or not right or len(right) > _MAX_OPTION_WORDS:
        return (), False
    comparing = any(_is_comparative(word.text.lower()) for word in words)
    return (frozenset(word.key for word in left), frozenset(word.key for word in right)), not comparing


def _left_option(text: str, words: Sequence[Word], count: int) -> list[Word]:
    """Return the words of the option before "or": after the last comma, else capitalised, else as many as after."""
    comma = text.rfind(",", 0, words[-1].start) if words else -1
    if comma >= 0:
        return [word for word in words if word.start > comma and word.text.lower() not in STOP_WORDS]
    names: list[Word] = []
    for word in reversed(words):
        if not (word.capital or word.coded):
            break
        names.append(word)
    return names or list(words[-max(1, count) :])


def _is_comparative(word: str) -> bool:
    if word in _COMPARATIVES:
        return True
    return len(word) > 4 and word.endswith(("er", "est")) and word not in _NOT_COMPARATIVE
