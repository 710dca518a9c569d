"""Question words: the content words of a question, and whether it asks about the whole corpus.

Word lists are English, as in the rest of the offline parts; a question in another language has other words and counts
as one about something particular. Invariant: the result depends on the question's text alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.graph.retrieval.scoring.terms import words

_ASKING = """who whom whose what which when where why how is are was were be been do does did has have had can could
would should will may might the a an and or of in on at to for by with from as about into over between among through
during it its this that these those there their they he she his her we you i me us our your my not no any some please
tell give show say says said write"""
_EVERYTHING = """main major key general common central overall broad high level theme themes topic topics subject
subjects trend trends pattern patterns finding findings insight insights summary summarise summarize overview outline
gist document documents text texts corpus collection dataset data database graph knowledge report reports article
articles passage passages source sources describe explain list discuss discussed cover covers covered mention mentioned
concern concerns happen happens happened across all most important whole entire everything entirety here contain
contains included kinds kind sort types type things thing content contents material together recurring dominant
principal areas area domain domains catch up last recent updates news new note notes file files folder folders entry
entries highlights everybody know written recorded learned happening going"""
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
ASKING = frozenset(_ASKING.split())
EVERYTHING = frozenset(_EVERYTHING.split())


def content_words(question: str) -> frozenset[str]:
    """Return the words that name a particular subject; none when the question is about the whole corpus."""
    return frozenset(words(question)) - ASKING - EVERYTHING


def _names_key(asked: Sequence[str]) -> bool:
    return any(first == "key" and second not in EVERYTHING for first, second in pairwise([*asked, ""]))


_PRESENT, _MONTHS = frozenset({"happens", "happening"}), frozenset(MONTHS)
_PARTICULAR, _BEGINNING = frozenset({"who", "whom", "whose", "where", "when"}), 2


def time_words(question: str) -> frozenset[str]:
    """Return the words that name a month or a year."""
    return frozenset(word for word in words(question) if word in MONTHS or _YEAR.fullmatch(word))


def is_corpus_question(question: str) -> bool:
    """Return whether the question asks about the whole corpus: it has a word for the whole, and no content word.

    The name of a time limits the whole: "Summarise the notes of March 2025". Who, where and when ask for something in
    particular ("where is the key"), and so does what happens in a month, unless the notes are named: passages of other
    months may state it. "key" means the main one only before such a word ("key findings").
    """
    asked = words(question)
    if EVERYTHING.intersection(asked) <= _PRESENT and not _MONTHS.isdisjoint(asked):
        return False
    if not _PARTICULAR.isdisjoint(asked[:_BEGINNING]) or _names_key(asked):
        return False
    return not EVERYTHING.isdisjoint(asked) and not content_words(question) - time_words(question)
