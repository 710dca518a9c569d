"""Similarity of two labels: words propose a match, vectors confirm it.

It rates one pair that no cannot-link constraint forbids. Each rule names the difference in wording it tolerates and the
cosine that the vectors then need; only a difference of form needs no vector. Candidate search is in `blocking.py`; the
constraints and the ambiguity rule are applied afterwards.

Invariant: `match_rule` and `cosine_milli` are symmetric (except for which side is the general one), and exact: cosines
are integer sums, so no machine and no order of operands changes a decision.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution import cannot_link as guards
from graphtide.graph.resolution import lexicon as lx
from graphtide.graph.resolution.label_features import Signature, acronym_of
from graphtide.graph.resolution.short_forms import given_name, is_code, leading_name, names_code

STEP = 1 << 11  # products of coordinates at this scale sum to less than 2**24: exact in float32, in any order
LONGEST = 12  # words; a longer label is a sentence and matches only itself
Quantised = NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Rule:
    """A tolerated difference in wording, and the minimum cosine (thousandths) for it.

    `blind` rules apply without vectors. From `ask` up to `floor` a pair is borderline: a judge should decide. The
    floors are calibrated on labelled pairs for two models together, the static one and MiniLM
    (`tests/bench/core_resolution.py`).
    """

    name: str
    floor: int
    blind: bool = False
    ask: int = 1001


SPELLING = Rule("spelling", -1000, blind=True)
TITLE = Rule("title", -1000, blind=True)
PLURAL = Rule("plural", 945, ask=800)  # a family is the plural of its name
ORDER = Rule("word order", 930)
NICKNAME = Rule("short given name", 660)
MIDDLE = Rule("middle name", 800)
INITIALS = Rule("initials", 200, blind=True)
FURTHER = Rule("further name", 890, ask=800)
FAMILY = Rule("family name", 905, ask=800)
TITLED_FAMILY = Rule("title and family name", 840)
REGION = Rule("region", 903, ask=800)
KNOWN_REGION = Rule("known region", 850, ask=800)
BRACKET = Rule("bracket", 950, ask=800)
REPUBLIC = Rule("republic", 860)
COUNTRY = Rule("country", 920, ask=850)
EMPTY = Rule("empty word", 850, ask=800)
MISSPELT = Rule("spelling variant", 860, ask=800)
ACRONYM = Rule("acronym", 80)
INTRODUCED = Rule("acronym introduced in brackets", -1000, blind=True)
GIVEN = Rule("given name", -1000, blind=True)  # the live graph decides: a second full name makes it ambiguous
CODE = Rule("code", -1000, blind=True)
THREE_LETTERS = Rule("three letters", 150)  # too short to identify one name
PLACED = Rule("city before a building", 860, ask=800)
SOFT = Rule("soft word", 955, ask=900)
NEAR = Rule("one word more", 1001, ask=900)  # for a judge only


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The difference of two labels. `general` is 0 or 1 for the less specific side, which could mean others too, else
    -1.
    """

    rule: Rule
    lexical_milli: int
    general: int = -1


def quantise(vector: NDArray[np.float32]) -> Quantised:
    """Return a float32 unit vector `(d,)` in steps of 1/2048: the form in which cosines are exact."""
    rounded: Quantised = np.rint(vector * np.float32(STEP)).astype(np.int16)
    return rounded


def cosine_milli(a: Quantised, b: Quantised) -> int:
    """Return the cosine in thousandths, rounded down; within one of that of the unrounded vectors, d <= 1024."""
    # Not `dot`: it frees the interpreter lock for less than a microsecond and takes it again. A thread that waits for
    # the lock then never completes a switch interval, and the event loop waited up to 270 ms beside 98,000 pairs.
    return int(a.astype(np.float32) @ b.astype(np.float32)) * 1000 // (STEP * STEP)


def may_match(a: Signature, b: Signature) -> bool:
    """Return False for labels of several words of which none is common: no rule matches those. Symmetric.

    Most candidates that vectors propose are such pairs, and there are more of them in a larger graph. Cost: a fiftieth
    of that of `match_rule`.
    """
    if len(a.words) < 2 or len(b.words) < 2:
        return True  # initials, a given name, or another spelling
    words, other = a.words + a.tail, b.words + b.tail
    return not set(words).isdisjoint(other) or "".join(words) == "".join(other)


def match_rule(a: Signature, b: Signature) -> RuleMatch | None:
    """Return the rule that matches the two labels, or None. It uses words alone; constraints included. Symmetric.

    Cost: linear in the number of words; a misspelt word costs the product of two words' lengths.
    """
    if (b.name, b.type) < (a.name, a.type):
        swapped = match_rule(b, a)
        if swapped is None or swapped.general < 0:
            return swapped
        return RuleMatch(swapped.rule, swapped.lexical_milli, 1 - swapped.general)
    if guards.cannot_link_reason(a, b) is not None or bool(a.suffix) != bool(b.suffix):
        return None
    if max(len(a.words), len(b.words)) > LONGEST:
        return RuleMatch(SPELLING, 1000) if (a.words, a.tail) == (b.words, b.tail) else None
    found = _same_words(a, b) or _abbreviated(a, b) or _person(a, b) or _contained(a, b) or _misspelt(a, b)
    return None if found is None else RuleMatch(found[0], _lexical_milli(a, b), found[1])


_Found = tuple[Rule, int] | None


def _same_words(a: Signature, b: Signature) -> _Found:
    words, other = a.words + a.tail, b.words + b.tail
    if sorted(words) != sorted(other) and "".join(words) != "".join(other):
        return None
    if a.title != b.title:
        return _same_but_title(a, b)
    # Of two labels of one name, the one without a type could mean others of that name too.
    unknown = 0 if not a.kind and b.kind else 1 if not b.kind and a.kind else -1
    in_order = words == other and a.turned == b.turned
    if len(words) == 1 == len(other) and a.is_plural != b.is_plural:
        points = a.name.startswith("the ") or b.name.startswith("the ")  # "The Monster" is not "monsters"
        return None if points else (PLURAL, unknown)
    if in_order or a.is_dated or sorted(words) != sorted(other) or _rotated(a, b):
        return SPELLING, unknown
    if words == other or len(words) < 3 or ((a.is_person or b.is_person) and not _is_rotation(words, other)):
        return None  # "East Boston" beside "east of Boston", "Ji Liang" beside "Liang Ji"
    return ORDER, unknown


def _same_but_title(a: Signature, b: Signature) -> _Found:
    if a.title and b.title:
        return None
    return (TITLE, -1) if len(a.words) > 1 else (FAMILY, int(bool(a.title)))


def _rotated(a: Signature, b: Signature) -> bool:
    """Return whether one label is "X of Y" and the other "Y X"."""
    return a.turned != b.turned and a.words != b.words and _is_rotation(a.words, b.words)


def _is_rotation(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return any(a[i:] + a[:i] == b for i in range(1, len(a)))


def _abbreviated(a: Signature, b: Signature) -> _Found:
    for general, (short, full) in enumerate(((a, b), (b, a))):
        letters = short.letters
        if letters and letters == full.short_form:
            return INTRODUCED, general
        if not guards.is_abbreviation(short) or len(letters) < 3 or len(full.words) < 3 or full.is_person:
            continue
        known = lx.KNOWN_ACRONYMS.get(letters)
        if letters in lx.SHORT_WORDS:
            continue
        if known is not None and set(known.split()) != set(full.words):
            continue
        if letters in acronyms(full.words):
            return (ACRONYM if len(letters) > 3 or known else THREE_LETTERS), general
    return None


def acronyms(words: tuple[str, ...]) -> set[str]:
    """Return the initials of the words, with and without small words."""
    return {acronym_of(words), acronym_of(tuple(w for w in words if w not in lx.PARTICLES and len(w) > 2))}


def _person(a: Signature, b: Signature) -> _Found:
    for general, (short, full) in enumerate(((a, b), (b, a))):
        if (given := given_name(short)) and given == leading_name(full):
            return GIVEN, general
        words = guards.without_numbers(full.words)
        if full.is_person and not full.is_plural and short.words != full.words and _is_family_name(short.words, words):
            if short.title and full.title and short.title != full.title:
                return None
            if short.title in lx.PLAIN_TITLES and not full.title:
                return None  # "Mrs. Bennet" beside "Elizabeth Bennet"
            return (TITLED_FAMILY if short.title else FAMILY), general
    if not (a.is_person and b.is_person) or (a.title and b.title and a.title != b.title):
        return None
    return _full_names(guards.without_numbers(a.words), guards.without_numbers(b.words))


def _is_family_name(short: tuple[str, ...], full: tuple[str, ...]) -> bool:
    if full[-1:] != short[-1:]:
        return False
    alone = len(short) == 1 or (len(short) < len(full) and short[0] in lx.PARTICLES)
    return alone and len(short[-1]) > 3 and full[-len(short) :] == short and len(full) > len(short)


def _full_names(a: tuple[str, ...], b: tuple[str, ...]) -> _Found:
    if a[-1] != b[-1]:
        short, long = sorted((a, b), key=len)
        added = long[len(short) :]
        extends = len(short) > 1 and long[: len(short)] == short and not any(w in lx.PARTS for w in added)
        return (FURTHER, -1) if extends else None
    general = 0 if sum(map(len, a)) < sum(map(len, b)) else 1
    short, long = (a[:-1], b[:-1]) if len(a) <= len(b) else (b[:-1], a[:-1])
    if not short or not long:
        return None
    if len(short) == 1 and guards.is_letter_run(short[0]) and short[0] == acronym_of(long) and len(long) > 1:
        return INITIALS, general
    if not guards.given_names_agree(short[0], long[0]) or not guards.embeds(short, long):
        return None
    return _given_names(short, long, a[-1], general)


def _given_names(short: tuple[str, ...], long: tuple[str, ...], family: str, general: int) -> _Found:
    abbreviates = any(len(w) == 1 for w in short)
    common = family in lx.COMMON_FAMILY and (abbreviates or lx.NICKNAMES.get(short[0], short[0]) in lx.COMMON_GIVEN)
    if common and not (abbreviates and len(short) == len(long)):
        return None
    if len(short) == len(long):
        shortened = abbreviates or any(len(w) == 1 for w in long)
        return (INITIALS, general) if shortened else (NICKNAME, -1)
    if len(short[0]) > 1 and len(long[0]) > 1 and not abbreviates:
        return MIDDLE, general
    # "T. J. Miller" is not "Tim Miller": one given name is missing and the other has only the same initial.
    return (INITIALS, general) if abbreviates and all(len(w) > 1 for w in long) else None


def _contained(a: Signature, b: Signature) -> _Found:
    """Match a label that has all the words of the other and some more; the additional words decide."""
    words, other = a.words + a.tail, b.words + b.tail
    general = 0 if len(words) < len(other) else 1
    short, long = (a, b) if general == 0 else (b, a)
    extras = Counter(long.words + long.tail)
    extras.subtract(short.words + short.tail)
    if min(extras.values()) < 0 or not long.words:
        return None
    more = [w for w, n in extras.items() if n > 0]
    if not more or any(w[0].isdigit() for w in more) or not _in_order(short.words, long.words):
        return None
    return _with_more(short, long, more, general)


def _with_more(short: Signature, long: Signature, more: list[str], general: int) -> _Found:
    if is_code(short) and names_code(long, short):
        return CODE, general
    institution = any(w in lx.INSTITUTIONS for w in short.words)
    found: _Found = None
    if short.words == long.words:
        found = (BRACKET if long.bracketed else _region_rule(short), general)
    elif _all_regions(more):
        at_end = long.words[: len(short.words)] == short.words
        # "Commonwealth of Australia" is not "Commonwealth", nor "Austria-Hungary" "Austria".
        bare = (long.turned and len(short.words) == 1) or (not long.tail and "-" in long.name)
        found = None if bare else (_region_rule(short) if at_end else COUNTRY, general)
    elif len(more) == 1 and _is_placed(short.words, long.words):
        found = PLACED, general
    elif long.words[: len(short.words)] == short.words and _adds_nothing(more, short):
        found = EMPTY, -1
    elif more == ["republic"] and long.words[0] == "republic" and not any(w in lx.TWIN_COUNTRIES for w in short.words):
        found = REPUBLIC, -1
    elif not any(w in lx.PARTS for w in more) and len(short.words) > 1:
        return (SOFT if all(w in lx.SOFT for w in more) else NEAR), general
    return None if institution else found


def _adds_nothing(more: list[str], short: Signature) -> bool:
    return all(w in lx.EMPTY or (w == "university" and len(short.words) > 1) for w in more)


def _is_placed(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Return whether they are like "Gatwick Airport" and "London Gatwick Airport", but not "Central Station" and any
    other.
    """
    named = [w for w in short[:-1] if w not in lx.QUALIFIERS and w not in lx.PARTS and w not in lx.SOFT]
    return bool(named) and long[1:] == short and short[-1] in lx.FACILITIES


def _region_rule(short: Signature) -> Rule:
    """Return the rule for an added region: few regions share a name ("Alberta, Canada"), few rulers a number."""
    return KNOWN_REGION if short.numbers or _all_regions(list(short.words)) else REGION


def _all_regions(words: list[str]) -> bool:
    united = words[:1] == ["united"]
    return all(w in lx.REGIONS or (united and w in ("united", "state", "kingdom")) for w in words)


def _in_order(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    rest = iter(long)
    return all(w in rest for w in short)


def _misspelt(a: Signature, b: Signature) -> _Found:
    """Match labels of which exactly one word differs, by one or two letters inside it."""
    if len(a.words) != len(b.words) or a.tail != b.tail:
        return None
    differing = [(x, y) for x, y in zip(a.words, b.words, strict=True) if x != y]
    if len(differing) != 1:
        return None
    x, y = differing[0]
    is_person, is_last = a.is_person or b.is_person, a.words[-1] != b.words[-1]
    shortest, min_length = min(len(x), len(y)), 7 if len(a.words) == 1 or (is_person and is_last) else 5
    # A different last letter is an ending ("Buddhism" beside "Buddhist"), not a spelling error.
    if shortest < min_length or x[0] != y[0] or x[:-1] == y[:-1] or x.startswith(y) or y.startswith(x):
        return None
    if is_person and a.words[0] != b.words[0]:
        return None
    return (MISSPELT, -1) if _distance(x, y) <= (2 if shortest > 8 else 1) else None


def _distance(x: str, y: str) -> int:
    """Return the Levenshtein distance."""
    row = list(range(len(y) + 1))
    for i, c in enumerate(x, 1):
        diagonal, row[0] = row[0], i
        for j, d in enumerate(y, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (c != d))
    return row[-1]


def _lexical_milli(a: Signature, b: Signature) -> int:
    """Return Dice's coefficient of the words, weighted by their length, in thousandths."""
    left, right = Counter(a.words + a.tail), Counter(b.words + b.tail)
    shared = sum(len(w) * n for w, n in (left & right).items())
    total = sum(len(w) * n for w, n in left.items()) + sum(len(w) * n for w, n in right.items())
    return 2000 * shared // total
