"""Label features: the words, numbers and kind of one label, computed once per label.

A pure function of the label's name and type. Comparisons are in `similarity.py` and `cannot_link.py`, the index in
`blocking.py`.

Invariant: equal (name, type) give equal signatures; nothing here reads any other label.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from sys import intern

from graphtide.graph.resolution import lexicon as lx

_FOLD = str.maketrans(
    {
        "\u0142": "l",
        "\u00f8": "o",
        "\u0111": "d",
        "\u00f0": "d",
        "\u00fe": "th",
        "\u0131": "i",
        "\u00e6": "ae",
        "\u0153": "oe",
        "\u0127": "h",
        "&": " and ",
    }
)
_PAREN = re.compile(r"\(([^()]*)\)")
_POSSESSIVE = re.compile(r"'s?(?![^\W_])|(?<![^\W_])'")
_THOUSANDS = re.compile(r"(?<!\d)\d{1,3}(?:,\d{3})+(?![\d,])")
_SHORT_RANGE = re.compile(r"\b(\d{2})(\d{2})\s*[-/]\s*(\d{2})\b(?!-?\d)")
# A number (with sign and fraction), an ordinal or decade, a word (with the + or # of a language), or a unit's sign.
_TOKEN = re.compile(
    r"(?:(?<![\w.])-)?\d+(?:\.\d+)?(?:st|nd|rd|th|s)?(?![^\W\d_])|(?:(?<![\w.])-)?\d+(?:\.\d+)?|[^\W\d_]+[+#]*|[$\u00a3\u20ac\u00a5%\u00b0]"
)
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.[ ]?)+(?:[^\W\d_]\b(?!['\w]))?")
_ROMAN = re.compile(r"(?=[ivxl])(?:x{0,3}|x?l)(?:i[xv]|v?i{0,3})")
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50}
_NONE: frozenset[str] = frozenset()
_PHRASE_STARTS = frozenset(phrase[0] for phrase in lx.PHRASES)
_KINDS = {
    kind: alias
    for alias, kinds in {
        "person": "person people human individual character artist politician athlete author",
        "place": "place location city country region state county river mountain island gpe loc geography",
        "organisation": "organisation organization company corporation institution team band party agency org",
        "work": "work film movie book song album novel game publication product creative_work artwork series",
        "event": "event war battle festival competition election tournament",
        "time": "time date year period",
        "number": "number quantity money percentage",
    }.items()
    for kind in kinds.split()
}


@dataclass(frozen=True, slots=True)
class Traits:
    """The features of a label that it has in common with many others; labels with equal ones share one object."""

    kind: str  # coarse type, "" if unknown
    title: str
    suffix: str  # junior, senior
    qualifiers: frozenset[str]
    turned: bool  # "X of Y", which is "Y X" in another order
    bracketed: bool  # the rest was in brackets
    short_form: str  # letters that the label itself gives in brackets as its abbreviation
    is_person: bool  # could be a person's name
    is_plural: bool  # its last word lost a plural ending
    is_generic: bool  # refers to an earlier mention ("the city"); matches no label
    is_dated: bool  # made of numbers and words of the calendar


_shared_traits = lru_cache(maxsize=4_096)(Traits)


@dataclass(frozen=True, slots=True)
class Signature:
    """One label's features for comparison. All words are case-folded, singular and in one spelling.

    Memory: seven fields; with the traits in each label it would be eighteen.
    """

    name: str
    type: str
    words: tuple[str, ...]  # of the part before a comma or bracket, without articles, titles and suffix
    tail: tuple[str, ...]  # of the rest: a region, a qualifier
    numbers: tuple[str, ...]  # sorted, from the whole label
    letters: str  # of a label that is a single word of two to six letters and so may be initials, else ""
    traits: Traits

    @property
    def bag(self) -> tuple[str, ...]:
        """Return all words in a canonical order."""
        return tuple(sorted(self.words + self.tail))

    @property
    def kind(self) -> str:
        return self.traits.kind

    @property
    def title(self) -> str:
        return self.traits.title

    @property
    def suffix(self) -> str:
        return self.traits.suffix

    @property
    def qualifiers(self) -> frozenset[str]:
        return self.traits.qualifiers

    @property
    def turned(self) -> bool:
        return self.traits.turned

    @property
    def bracketed(self) -> bool:
        return self.traits.bracketed

    @property
    def short_form(self) -> str:
        return self.traits.short_form

    @property
    def is_person(self) -> bool:
        return self.traits.is_person

    @property
    def is_plural(self) -> bool:
        return self.traits.is_plural

    @property
    def is_generic(self) -> bool:
        return self.traits.is_generic

    @property
    def is_dated(self) -> bool:
        return self.traits.is_dated


def parse_label(name: str, type_: str) -> Signature:
    """Parse a normalised label. Cost: linear in its length."""
    folded = _fold(name)
    head, tail, short_form = _split(folded)
    plain = head.split()
    words = _words(head)
    words, suffix = _take_suffix(words)
    words, title = _take_title(words, plain)
    tail_words = tuple(_expand_states(_words(tail))) if tail else ()
    kind = _KINDS.get(type_.replace(" ", "_"), "")
    everything = words + tail_words
    traits = _shared_traits(
        kind,
        title,
        suffix,
        _qualifiers(words),
        "of" in plain[1:-1] and words[-1:] != words[:1] and _keeps_of(plain, words),
        bool(tail_words) and "(" in folded,
        short_form,
        kind == "person" or (kind == "" and not tail_words and _could_be_a_person(plain, words)),
        _is_plural(plain),
        _is_generic(words, plain, title),
        bool(everything) and all(w[:1].isdigit() or w in lx.MONTHS or w in lx.DATE_WORDS for w in everything),
    )
    return Signature(
        name=name,
        type=type_,
        words=tuple(map(intern, words)),
        tail=tuple(map(intern, tail_words)),
        numbers=tuple(sorted(w for w in everything if w[-1:].isdigit() or w[:1].isdigit())),
        letters=_initials(name, words, tail_words),
        traits=traits,
    )


def _qualifiers(words: tuple[str, ...]) -> frozenset[str]:
    found = frozenset(w for w in words if w in lx.QUALIFIERS) or _NONE
    if "united" in found and words[words.index("united") + 1 :][:1] in lx.UNITED:
        return found - {"united"}
    return found


def _is_plural(plain: list[str]) -> bool:
    last = _POSSESSIVE.sub("", plain[-1]) if plain else ""
    return lx.singular(last) != last


def _initials(name: str, words: tuple[str, ...], tail: tuple[str, ...]) -> str:
    if len(words) != 1 or tail or not words[0].isalpha():
        return ""
    letters = _letters(name)
    return letters if letters.isalpha() and 2 <= len(letters) <= 6 else ""


def acronym_of(words: tuple[str, ...]) -> str:
    """Return the initials of the words, without numbers."""
    return "".join(w[0] for w in words if not w[0].isdigit())


def _fold(name: str) -> str:
    if name.isascii():
        return name.replace("&", " and ")
    decomposed = unicodedata.normalize("NFD", name)
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn").translate(_FOLD)


def _split(name: str) -> tuple[str, str, str]:
    """Return the name, the addition in a bracket or after a comma, and the abbreviation that a bracket gives."""
    if "(" not in name and "," not in name:
        return name, "", ""
    brackets = _PAREN.findall(name)
    bare = _PAREN.sub(" ", name).strip() if brackets else name
    if brackets and not bare:
        return name.replace("(", " ").replace(")", " "), "", ""
    bare = _THOUSANDS.sub(lambda match: match.group().replace(",", ""), bare)
    head, comma, rest = bare.partition(",")
    if comma and not _adds_a_region(head, rest):
        head, rest = bare.replace(",", " "), ""
    short_forms = [b for b in brackets if _abbreviates(_letters(b), _letters(head))]
    kept = [b for b in brackets if b not in short_forms]
    return head, " ".join([rest, *kept]), _letters(short_forms[0]) if short_forms else ""


def _adds_a_region(head: str, rest: str) -> bool:
    first = rest.strip(" .").split(" ")[0]
    if first in lx.SUFFIXES or first in lx.EMPTY or first in lx.VARIANTS or first[:1].isdigit():
        return False
    return bool(head.strip()) and not head[-1:].isdigit()


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text)


def _abbreviates(short: str, full: str) -> bool:
    """Return whether the letters of `short` occur in `full` in order, starting with its first letter."""
    rest = iter(full)
    return 2 <= len(short) <= 6 and short[0] == full[:1] and all(c in rest for c in short)


def _keeps_of(plain: list[str], words: tuple[str, ...]) -> bool:
    """Return whether the "of" is still between two words, and not inside a phrase that became one word."""
    return sum(w not in lx.STOP for w in plain) <= len(words)


def _words(text: str) -> tuple[str, ...]:
    if "-" in text or "/" in text:
        text = _SHORT_RANGE.sub(_long_range, text)
    found = _dotted_words(text) if "." in text else _plain_words(text)
    if len(found) == 1 and found[0] in lx.DOTTED_ALIASES:
        found = lx.DOTTED_ALIASES[found[0]].split()
    return _phrases(_without_stop_words(found))


def _dotted_words(text: str) -> list[str]:
    alone = text.strip(" .")
    found: list[str] = []
    position = 0
    for match in _DOTTED.finditer(text):
        letters = _letters(match.group())
        if len(letters) < 2:
            continue
        found += _plain_words(text[position : match.start()])
        joined = lx.ALIASES.get(letters) or lx.DOTTED_ALIASES.get(letters)
        # Letters with dots are initials before a name, and one abbreviation when they are the whole text.
        found += joined.split() if joined else [letters] if match.group().strip(" .") == alone else list(letters)
        position = match.end()
    return found + _plain_words(text[position:])


def _without_stop_words(words: list[str]) -> list[str]:
    # A last "a" is a designation, as in "National League A"; a last state code is a region.
    kept = [w for i, w in enumerate(words) if w not in lx.STOP or (w == "a" and _is_mark(words, i))] or words
    if len(kept) > 1 and kept[-1] in lx.PLAIN_STATE_CODES:
        return kept[:-1] + lx.US_STATES[kept[-1]].split()
    return kept


def _is_mark(words: list[str], place: int) -> bool:
    if place == len(words) - 1:
        return place > 0
    return words[place + 1][0].isdigit()


def _plain_words(text: str) -> list[str]:
    if "'" in text:
        text = _POSSESSIVE.sub(" ", text.replace("n't", "nt").replace("o'", "o"))
    tokens: list[str] = _TOKEN.findall(text)
    found: list[str] = []
    for place, token in enumerate(tokens):
        found += _one_word(token, place, tokens)
    return found


def _one_word(token: str, place: int, tokens: list[str]) -> list[str]:
    if not token[0].isalpha():
        return [token]
    known = lx.NUMBER_WORDS.get(token) or lx.ORDINAL_WORDS.get(token)
    if known:
        return [known]
    if _is_roman(token, place, tokens):
        return [str(_roman(token))]
    if token in lx.ALIASES:
        return lx.ALIASES[token].split()
    if len(tokens) == 1:
        return [lx.singular(token)]  # "eastern" alone is not "east"
    token = lx.VARIANTS.get(token, token)
    return [token if token in lx.SUFFIXES else lx.VARIANTS.get(single := lx.singular(token), single)]


def _is_roman(token: str, place: int, tokens: list[str]) -> bool:
    if not _ROMAN.fullmatch(token):
        return False
    return place > 0 or (len(tokens) > 1 and lx.singular(tokens[1]) in lx.COUNTED_NOUNS)


def _roman(token: str) -> int:
    values = [_ROMAN_VALUES[c] for c in token]
    return sum(-v if v < max(values[i:]) else v for i, v in enumerate(values))


def _long_range(match: re.Match[str]) -> str:
    century, start, end = match.groups()
    return f"{century}{start} {century}{end}" if end > start else match.group()


def _phrases(words: list[str]) -> tuple[str, ...]:
    if _PHRASE_STARTS.isdisjoint(words):
        return tuple(words)
    for phrase, meaning in lx.PHRASES.items():
        for place in range(len(words) - len(phrase) + 1):
            if words[place] == phrase[0] and tuple(words[place : place + len(phrase)]) == phrase:
                words = [*words[:place], *meaning, *words[place + len(phrase) :]]
                break
    return tuple(words)


def _expand_states(words: tuple[str, ...]) -> list[str]:
    return [part for word in words for part in lx.US_STATES.get(word, word).split()]


def _take_suffix(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    if len(words) > 2 and words[-1] in lx.SUFFIXES:
        return words[:-1], lx.SUFFIXES[words[-1]]
    return words, ""


def _take_title(words: tuple[str, ...], plain: list[str]) -> tuple[tuple[str, ...], str]:
    """Split leading titles from a name. The rest must look like a name, so "King County" keeps "King"."""
    if len(plain) > 1 and ("of" in plain[1:3] or plain[0].endswith(("'s", "s'"))):
        return words, ""
    start = 0
    while start < len(words) - 1 and words[start] in lx.TITLES and words[start] != "saint":
        start += 1
    rest = words[start:]
    if not start or any(w in lx.PARTS or w in lx.NOT_NAMES or w in lx.REGIONS for w in rest):
        return words, ""
    return rest, " ".join(words[:start])


def _could_be_a_person(plain: list[str], words: tuple[str, ...]) -> bool:
    names = [w for w in words if not w[0].isdigit()]
    if not 2 <= len(names) <= 6 or any(w in lx.STOP for w in plain) or names[0] in lx.PLACE_STARTS:
        return False
    barred = (lx.NOT_NAMES, lx.PARTS, lx.QUALIFIERS, lx.REGIONS, lx.MONTHS, lx.EMPTY)
    if any(w.endswith(lx.WORD_ENDINGS) and len(w) > 5 for w in names) or words[0] != names[0]:
        return False
    return not any(w in table for table in barred for w in names)


def _is_generic(words: tuple[str, ...], plain: list[str], title: str) -> bool:
    if not words or title:
        return not words
    if len(plain) == 1:
        return plain[0] in lx.PRONOUNS
    pointing = plain[0] in lx.STOP or plain[0] in lx.PRONOUNS
    return pointing and all(w in lx.GENERIC_NOUNS or w in lx.PRONOUNS for w in words)
