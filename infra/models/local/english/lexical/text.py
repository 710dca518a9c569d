"""Tokens and sentences: positions of words, and sentence boundaries.

Words are runs of letters and digits of any script, every other character is a mark of its own. Invariants: spans are
positions in the given text; a sentence is a slice of it; no sentence has more than ``MAX_TOKENS`` tokens, so that
readers of a sentence do bounded work; one pass, linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.infra.models.local.english.lexical.words import (
    ABBREVIATIONS,
    BEFORE_LETTERS,
    BEFORE_NUMBERS,
    CALENDAR,
    DAY_HALVES,
    NUMBER_WORDS,
    WEEKDAYS,
    word_set,
)

MAX_TOKENS = 160
_MONTHS = word_set("jan feb mar apr jun jul aug sep sept oct nov dec")
MAX_WORD_CHARS = 60  # longer than any word of prose: base64, hashes, a text without spaces

# Possessive quantifiers prevent backtracking. Combining marks (NFD text) belong to the letter before them.
_LETTERS = r"[^\W_](?:[^\W_]|[\u0300-\u036f])*+"
_TOKEN = re.compile(
    rf"(?P<dotted>(?:[A-Z]\.){{2,8}}+)"
    rf"|(?P<number>[-\u2212+]?\d++(?:[.,]\d++){{0,16}}+(?![^\W\d_]))"
    rf"|(?P<word>{_LETTERS}(?:['\u2019.&\-\u2011]{_LETTERS})*+)"
    r"|(?P<space>\s++)"
    r"|(?P<mark>.)",
    re.DOTALL,
)
_ENDS = frozenset(".!?\u2026\u3002\uff01\uff1f")
_CLOSERS = frozenset("\"'\u201d\u2019)]\u00bb*_")
_BEFORE_INITIALS = frozenset((".", ",", ";", ":", "(", ")", "by", "and", "with", "from", "to", "for", "of", "or", "is"))
_AFTER_LETTER = frozenset(".,;:)")
_LINE_STARTS = frozenset("-*#>|•+")


@dataclass(slots=True)
class WordToken:
    """One word, number or mark; ``capital``: a word that starts with an upper-case letter."""

    text: str
    lower: str
    start: int
    end: int
    kind: str
    capital: bool


@dataclass(frozen=True, slots=True)
class TextSentence:
    """``text[start:end]`` and its tokens, whose positions count from the start of the whole text."""

    start: int
    end: int
    tokens: tuple[WordToken, ...]


def tokens_of(
    text: str, start: int = 0, end: int | None = None, *, max_word_chars: int = MAX_WORD_CHARS
) -> Iterator[WordToken]:
    """Yield every word, number, mark and run of white space of ``text[start:end]``, in order, without gaps."""
    for match in _TOKEN.finditer(text, start, len(text) if end is None else end):
        kind, word = match.lastgroup or "mark", match.group()
        if kind in ("word", "dotted"):
            long = len(word) > max_word_chars
            kind = "opaque" if long else "word"
            yield WordToken(word, "" if long else word.lower(), match.start(), match.end(), kind, word[0].isupper())
        else:
            yield WordToken(word, word, match.start(), match.end(), kind, False)


def sentences_of(
    text: str, start: int = 0, end: int | None = None, *, max_word_chars: int = MAX_WORD_CHARS
) -> Iterator[TextSentence]:
    """Yield the sentences of ``text[start:end]`` in order.

    A blank line, a list item and a heading end one as a full stop does; a longer word is a sentence of its own.
    """
    pending: list[WordToken] = []
    ended = ""
    for token in tokens_of(text, start, end, max_word_chars=max_word_chars):
        if token.kind == "space":
            ended = _breaks(token.text, pending, ended)
            continue
        if pending and (_closes(ended, token, text) or len(pending) >= MAX_TOKENS or _new_item(pending, token, text)):
            yield _sentence(pending)
            pending = []
        pending.append(token)
        ended = ""
    if pending:
        yield _sentence(pending)


def _closes(ended: str, token: WordToken, text: str) -> bool:
    """Return whether the sentence ended: not at a full stop before a lower-case word, always at an empty line."""
    small = token.kind == "word" and token.text[0].islower()
    if ended == "month":  # "on 4 Nov. Meloxicam"
        return token.kind == "word" and token.capital and token.lower not in CALENDAR
    if ended == "hour":  # "from 9 a.m. Monday"
        return not small and token.lower not in CALENDAR | WEEKDAYS
    if ended == "number":  # "max. 6 bar", "Rm. B4", "fig. B", "ext. Three"
        return token.kind == "word" and not small and not _numbers(token, text)
    return ended == "hard" or token.kind == "opaque" or (ended == "soft" and not small)


def _numbers(token: WordToken, text: str) -> bool:
    """Return whether a word numbers something: with a figure, one letter that is no pronoun or article, or in words.

    "A" and "I" are letters where a mark follows: "fig. A, B", "fig. A. The pump".
    """
    letter = len(token.text) == 1 and (
        token.lower not in ("i", "a") or text[token.end : token.end + 1] in _AFTER_LETTER
    )
    return letter or token.lower in NUMBER_WORDS or any(char.isdigit() for char in token.text)


def _sentence(tokens: list[WordToken]) -> TextSentence:
    return TextSentence(tokens[0].start, tokens[-1].end, tuple(tokens))


def _breaks(space: str, pending: list[WordToken], ended: str) -> str:
    """Return how white space after ``pending`` ends the sentence: "soft" after a full stop, "hard" at an empty line,
    "month" after "4 Nov.", "hour" and "number" after abbreviations, or "".
    """
    if not pending:
        return ""
    if space.count("\n") > 1 or (pending[0].text == "#" and "\n" in space) or pending[-1].kind == "opaque":
        return "hard"
    at = len(pending) - 1
    while at > 0 and pending[at].text in _CLOSERS:
        at -= 1
    if pending[at].text not in _ENDS:
        return ended
    if pending[at].text == "." and at > 0 and _abbreviated(pending, at - 1):
        is_day = at > 1 and pending[at - 1].lower in _MONTHS and pending[at - 2].text[:1].isdigit()
        return "month" if is_day else ended
    return _abbreviating(pending, at) if pending[at].text == "." and at > 0 else "soft"


def _abbreviating(pending: list[WordToken], at: int) -> str:
    """Return how the full stop at `at` ends a sentence: "hour" after "9 a.m.", "number" after "max.", not after
    "5 min.", else "soft".
    """
    word = pending[at - 1]
    if word.end != pending[at].start:
        return "soft"
    if word.lower in DAY_HALVES:
        return "hour"
    is_first = at == 1 or pending[at - 2].text == ":"
    if word.lower == "no" and is_first:  # "No. Only unopened bags", "Bo: No. ...": the reply goes with its reason
        return ""
    is_counted = at > 1 and pending[at - 2].text[:1].isdigit()
    return "number" if word.lower in BEFORE_NUMBERS and not is_counted else "soft"


def _abbreviated(pending: list[WordToken], at: int) -> bool:
    word = pending[at]
    if word.end != pending[at + 1].start:
        return False
    before = pending[at - 1] if at else None
    initial = len(word.text) == 1 and word.capital
    listed = before is None or before.capital or before.text in _BEFORE_INITIALS or before.lower in _BEFORE_INITIALS
    return (initial and listed and not _is_numbered(pending, at)) or word.lower in ABBREVIATIONS


_LETTER_AT_END = re.compile(
    rf"\b(?:(?:{'|'.join(sorted(BEFORE_NUMBERS))})[.]|(?:{'|'.join(sorted(BEFORE_LETTERS))}))\s[A-Z][.]\Z",
    re.IGNORECASE,
)
_LETTER_CHARS = 16


def ends_with_letter(text: str, end: int) -> bool:
    """Return whether ``text[:end]`` ends with a letter that numbers what is named before it: "as in fig. A."."""
    return _LETTER_AT_END.search(text, max(0, end - _LETTER_CHARS), end) is not None


def _is_numbered(pending: list[WordToken], at: int) -> bool:
    """Return whether a letter numbers the word before it: "fig. B", "Room A". It is no initial of a name then."""
    if at and pending[at - 1].text == "." and pending[at - 1].end < pending[at].start:
        return at > 1 and pending[at - 2].lower in BEFORE_NUMBERS
    return at > 0 and pending[at - 1].lower in BEFORE_LETTERS


def _new_item(pending: list[WordToken], token: WordToken, text: str) -> bool:
    """Return whether a list mark at the start of a line opens a new sentence."""
    return token.text in _LINE_STARTS and token.start > pending[-1].end and "\n" in text[pending[-1].end : token.start]
