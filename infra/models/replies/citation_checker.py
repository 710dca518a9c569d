"""Checker of citations in a streamed answer: text passes unchanged, a citation only if it is valid.

It does not judge truth: it ensures that every sentence names passages of the context. A citation of any other passage
is left out, and a sentence without one is marked at its end. A link becomes text, because a model may copy it from a
document. Invariants: text that was sent is never changed; the joined pieces are the answer's text, however it was cut
into pieces on its way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from graphtide.graph.text.quotation import LINK_BREAKS, without_citations
from graphtide.infra.models.local.english.lexical.text import sentences_of

UNSUPPORTED = "[unsupported]"
"""Follows a sentence for which the answer names no passage."""

# Possessive quantifiers, and no start inside a run of blanks, prevent backtracking on hostile replies.
_ONE = r"\[\s*+\d{1,6}+(?:\s*+[,;]\s*+\d{1,6}+)*+\s*+\]"
_CITED = re.compile(rf"(?<![ \t])[ \t]*+{_ONE}(?:[ \t]*+{_ONE})*+")
_LEADING = re.compile(rf"(?:\s*+{_ONE})++[.!?]?")
_NUMBER = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_UNFINISHED_CITATION = re.compile(r"\[[\d\s,;]*+\Z")
_OPEN_END = re.compile(r"(?:[\s.!?\u2026\"'\u201d\u2019)*_]|\[[\d\s,;]*+\]?+)++")
"""A possible citation, or the end of a sentence that its mark must follow."""
_CONTINUES = re.compile(r"[\w\u0300-\u036f.,'\u2019&+\-\u2011\u2212]")
"""A character at which the next piece may continue a word or number."""
_FIRST_WORD = re.compile(r"[^\W_]*+")
_CONTEXT_CHARS = 16
"""Characters of the sent text that are kept to recognise a link; at least as many as `LINK_BREAKS` looks back."""


class CitationChecker:
    """Checks an answer's pieces as they arrive; ``passages`` is the number of passages that may be cited."""

    def __init__(self, passages: int) -> None:
        self._passages = passages
        self._before = ""
        self._sentence = ""
        self._sent = 0
        self._names_one = False
        self._cited: dict[int, None] = {}

    @property
    def cited(self) -> tuple[int, ...]:
        """Return the 0-based indices of the passages cited so far, in order of first use."""
        return tuple(self._cited)

    def take(self, piece: str) -> str:
        """Return the text that can be sent now. Cost: linear in the piece and the unfinished sentence."""
        self._sentence += piece
        undecided = len(self._sentence) - _decided(self._sentence)
        out = self._finish_sentences(self._sentence[: len(self._sentence) - undecided])
        return out + self._give(_open_end(self._sentence[: len(self._sentence) - undecided]))

    def end(self) -> str:
        """Return the rest."""
        return self._finish_sentences(self._sentence) + self._finish(len(self._sentence))

    def _finish_sentences(self, text: str) -> str:
        """Finish all sentences but the last one of `text`, with which the unfinished sentence begins."""
        ends = _ends(_UNFINISHED_CITATION.sub("", text))
        return "".join(self._finish(end - start) for start, end in zip((0, *ends), ends[:-1], strict=False))

    def _give(self, until: int) -> str:
        """Return the unsent part of the unfinished sentence up to there."""
        start = self._sent
        self._sent = max(start, until)
        given, out, at = self._sentence[start:until], "", 0
        for found in _CITED.finditer(given):
            out += self._quoted(given[at : found.start()])
            out += self._emitted(self._checked(found, start))
            at = found.end()
        return out + self._quoted(given[at:])

    def _quoted(self, text: str) -> str:
        """Return the text between citations without marks and links (see `graphtide.graph.text.quotation`)."""
        before, out = self._before, ""
        whole, at = before + without_citations(text), len(before)
        for place in LINK_BREAKS.finditer(whole, at):
            out += f"{whole[at : place.start()]} "
            at = place.start()
        return self._emitted(out + whole[at:])

    def _emitted(self, text: str) -> str:
        """Return the text and remember its end: a removed citation may join the two halves of a link."""
        self._before = (self._before + text)[-_CONTEXT_CHARS:]
        return text

    def _checked(self, found: re.Match[str], start: int) -> str:
        """Return adjacent citations in one form, without unknown passages; a blank before them, after words."""
        numbers = dict.fromkeys(int(number) for number in _NUMBER.findall(found[0]))
        valid = [number for number in numbers if 0 < number <= self._passages]
        if not valid:
            return ""
        self._names_one = True
        self._cited.update(dict.fromkeys(number - 1 for number in valid))
        at = start + found.start()
        blank = " " if at and not self._sentence[at - 1].isspace() else ""
        return blank + "".join(f"[{number}]" for number in valid)

    def _finish(self, end: int) -> str:
        """Return the rest of the sentence that ends there, with its mark if it needs one; then start the next one."""
        sentence = self._sentence[:end]
        bare = len(sentence.rstrip())
        out = self._give(bare)
        if not self._names_one and _LETTER.search(sentence):
            out += self._emitted(f" {UNSUPPORTED}")
        out += self._give(end)
        self._sentence, self._sent, self._names_one = self._sentence[end:], 0, False
        return out


def cited_sentences(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """Return the sentences of a text without their citations, each with the numbers it cites, in order of first use."""
    found, start = [], 0
    for end in _ends(text):
        sentence, start = text[start:end], end
        runs = " ".join(match[0] for match in _CITED.finditer(sentence))
        numbers = dict.fromkeys(int(number) for number in _NUMBER.findall(runs))
        bare = " ".join(_CITED.sub("", sentence).split())
        if bare:
            found.append((bare, tuple(numbers)))
    return found


def renumbered(text: str, numbers: Sequence[int]) -> str:
    """Return the text with each citation `[n]` as `[numbers[n - 1]]`; a citation of an unknown number is left out."""

    def other(found: re.Match[str]) -> str:
        given = (int(number) for number in _NUMBER.findall(found[0]))
        named = dict.fromkeys(numbers[number - 1] for number in given if 0 < number <= len(numbers))
        return " " + "".join(f"[{number}]" for number in named) if named else ""

    return _CITED.sub(other, text)


def _decided(text: str) -> int:
    """Return the end of the part whose sentences cannot change when the text continues.

    Marks after the last word may join it to the next characters: `U.S`, `3.5`, `-3`. Cost: linear in the text.
    """
    start = len(text)
    while start and _CONTINUES.match(text[start - 1]):
        start -= 1
    word = _FIRST_WORD.match(text, start)
    return word.end() if word else start


def _open_end(text: str) -> int:
    """Return the start of the open end of a text (see `_OPEN_END`): its last run, if that reaches the end."""
    start = len(text)
    for run in _OPEN_END.finditer(text):
        start = run.start() if run.end() == len(text) else len(text)
    return start


def _ends(text: str) -> list[int]:
    """Return the ends of sentences, with the blanks after them; citations after a full stop belong to the sentence
    before.
    """
    ends = [0]
    while ends[-1] < len(text):
        ends.append(_end(text, ends[-1]))
    return ends[1:]


def _end(text: str, start: int) -> int:
    """Return the end of the sentence that starts there. It depends on nothing before it: a stream forgets that."""
    first = next(sentences_of(text, start, max_word_chars=sys.maxsize), None)
    end = _skip_blanks(text, first.end if first else start)
    following = _LEADING.match(text, end) if end < len(text) else None
    return _skip_blanks(text, following.end()) if following else end


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start
