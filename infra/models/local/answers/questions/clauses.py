"""Relative clauses of a question: "the doctor *who noticed the mistake*".

Such a question has two steps: the clause tells which thing is meant, and the rest asks something about it. Invariant:
the clauses depend on the words of the question alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphtide.infra.models.local.answers.questions.types import Term, TermKind
from graphtide.infra.models.local.answers.words import IRREGULAR, STOP_WORDS, Word, word_set, words_of
from graphtide.infra.models.local.english.lexical.verbs import VERBS

_RELATIVE = word_set("who whom whose which that where")
_PREPOSITIONS = word_set("of in on at to for by with from off about into over under near behind beside")
_FIRST = 2
"""A relative pronoun is at least the third word: those before ask the question."""
_MAX_TERMS = 8
"""Terms of a clause after which its end is no longer looked for: a question may have thousands of words."""
_AUXILIARIES = word_set("does do did will would can could may must should shall")
_REPORTING = word_set(
    """say says said tell tells told know knows knew think thinks thought believe believes believed report reported
    notice noticed find found agree agreed decide decided promise promised claim claimed mean means meant ask asked
    write wrote show shows showed hear heard hope hoped require requires required state states stated sure"""
)
"""Words after which "that" begins what is said, and describes no thing."""


@dataclass(frozen=True, slots=True)
class Clause:
    """A relative clause. `inner` and `outer` are the places of the terms in it and around it; `noun` is the place of
    the term for the thing that it describes, -1 if it is none.
    """

    inner: tuple[int, ...]
    outer: tuple[int, ...]
    noun: int


def clauses_of(text: str, terms: Sequence[Term]) -> list[Clause]:
    """Return the first relative clause, once for each place where it may end: what follows "the locum who helped us"
    may be the main verb. Empty if there is none.
    """
    words = words_of(text)
    at = next((at for at in range(_FIRST, len(words) - 1) if _begins(text, words, at)), 0)
    if not at:
        return _of_clauses(text, terms)
    more = _AND_WHAT.search(text, words[at].start)
    limit = more.start() if more else len(text)
    inside = [place for place, term in enumerate(terms) if words[at].start < term.start < limit]
    around = [place for place in range(len(terms)) if place not in inside]
    before = [place for place in around if terms[place].start < words[at].start]
    noun = next((place for place in reversed(before) if not _is_deed(text, terms[place])), -1)
    return [
        Clause(tuple(inside[:end]), (*around, *inside[end:]), noun)
        for end in _ends(words[:at], [terms[place] for place in inside])
    ]


def _of_clauses(text: str, terms: Sequence[Term]) -> list[Clause]:
    """Return "the presenter of Dig In" of "the number of the presenter of Dig In" as a clause."""
    nested = _NESTED.search(text)
    if nested is None:
        return []
    inside = tuple(place for place, term in enumerate(terms) if term.start >= nested.start(1))
    around = tuple(place for place in range(len(terms)) if place not in inside)
    return [Clause(inside, around, -1)] if around and len(inside) > 1 else []


_NESTED = re.compile(r"\bof (?:the|our) ((?:[a-z]{2,20} ){1,2}(?:of|in|for|at) (?:the |our )?[\w][^?]{1,60})")
_AND_WHAT = re.compile(r",? and (?:what|when|where|which|who|how)\b")


def _is_deed(text: str, term: Term) -> bool:
    """Return whether a word before a relative pronoun is no noun that it describes: "does the person *work*"."""
    if term.text in IRREGULAR or term.text.endswith("ed"):
        return True
    previous = text[: term.start].split()[-1:]
    return term.text in VERBS and not _DETERMINERS.issuperset(map(str.lower, previous))


_DETERMINERS = word_set("the a an this that our my your his her their its of in on at to for by with from which what")


def _begins(text: str, words: Sequence[Word], at: int) -> bool:
    """Return whether a relative clause begins at a word. An indirect question ("and where") is none, and
    what follows a comma only adds something: "the garden wing, where we stay".
    """
    if words[at].text not in _RELATIVE or text[: words[at].start].rstrip().endswith(","):
        return False
    before = words[at - 1].text.lower()
    if before in _PREPOSITIONS and at > _FIRST and words[at].text in ("which", "whom", "whose"):
        before = words[at - 2].text.lower()
    return before not in STOP_WORDS and not (words[at].text == "that" and before in _REPORTING)


def _ends(before: Sequence[Word], inside: Sequence[Term]) -> Iterator[int]:
    """Yield the numbers of terms that the clause may have: all, and, where the question has an auxiliary before the
    clause, those before each verb among its first `_MAX_TERMS`.
    """
    if inside:
        yield len(inside)
    if not any(word.text.lower() in _AUXILIARIES for word in before):
        return
    for end in range(1, min(len(inside), _MAX_TERMS)):
        if inside[end].text in VERBS or inside[end].kind is TermKind.IMPLIED:
            yield end
