"""Speakers of messages and of transcripts: the name before the colon is context of all sentences of a message.

A passage has speakers if one label is a given name that is no common word or place; "Note" and the like are none. The
label of a line with a date or a time counts as a speaker where nearly all such lines of a passage have one; any other
label if it opens several paragraphs, or the message says "I" or "we".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from unicodedata import combining, normalize

from graphtide.graph.resolution.given_names import AMBIGUOUS, GIVEN_NAMES
from graphtide.infra.documents.line_starts import STAMP
from graphtide.infra.models.local.english.lexical.words import (
    CALENDAR,
    KEYS_OF_ORGANISATIONS,
    KEYS_OF_PERSONS,
    KEYS_OF_PLACES,
    PLACES,
    WEEKDAYS,
    word_set,
)

_SENDER = re.compile(r"[\s\u2013\u2014-]{0,5}([^\W\d_][^:\n<>\d]{0,39}):\s")
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]{0,24}(?: [^\W\d_][\w.'\u2019-]{0,24}){0,2}")
_FIRST_PERSON = re.compile(r"\b(?:I|I['\u2019]\w{1,2}|[Ww]e|[Mm]y|[Oo]ur|[Mm]e|[Uu]s)\b")
_MIN_MESSAGES, _NEARLY_ALL = 2, 0.8
_NO_NAMES = (CALENDAR | WEEKDAYS | PLACES | KEYS_OF_PERSONS | KEYS_OF_PLACES | KEYS_OF_ORGANISATIONS) - GIVEN_NAMES
_NO_NAMES |= word_set(
    "note notes nb warning caution danger attention important notice hint tip remark example agenda topic subject "
    "title date time day week year duration start end begin opening closing break lunch dinner breakfast coffee setup "
    "result results outcome total subtotal sum summary conclusion overview background question answer problem cause "
    "reason solution workaround fix issue risk goal aim plan step steps task tasks todo done open closed next update "
    "decided decision decisions agreed action actions status state priority type category name id key value price cost "
    "budget amount number phone email mail address owner author editor water hotel error info debug warn trace fatal "
    "critical ps edit see source sources"
)
"""Words of labels that are no names of persons."""


def speakers_of(blocks: Mapping[int, str]) -> dict[int, str]:
    """Return the speaker of each block of a passage that is a message, from the texts of the blocks. Cost: linear."""
    stamps = {block: found.end() for block, text in blocks.items() if (found := STAMP.match(text))}
    senders = {
        block: found[1].strip()
        for block, text in blocks.items()
        if (found := _SENDER.match(text, stamps.get(block, 0))) and _is_name(found[1], block in stamps)
    }
    stamped = {block: name for block, name in senders.items() if block in stamps}
    if len(stamped) < max(_MIN_MESSAGES, _NEARLY_ALL * len(stamps)):
        stamped = {}
    if not any(map(_is_given_name, senders.values())):
        return {}
    counts = Counter(name for block, name in senders.items() if block not in stamps)
    return stamped | {
        block: name
        for block, name in senders.items()
        if block not in stamps and (counts[name] >= _MIN_MESSAGES or _FIRST_PERSON.search(blocks[block], len(name)))
    }


def _is_name(label: str, stamped: bool) -> bool:
    """Return whether a label has the form of a name; beside a time it may be one word in small letters."""
    words = label.split()
    capitals = all(word[0].isupper() for word in words)
    is_word = len(label.strip()) == 1 or any(_small(word) in _NO_NAMES or word.endswith(_OWNS) for word in words)
    formed = _NAME.fullmatch(label.strip()) is not None and (capitals or (stamped and len(words) == 1))
    return formed and not is_word


_OWNS = ("'s", "\u2019s")


def _is_given_name(label: str) -> bool:
    first, *others = label.split()
    return _small(first) in GIVEN_NAMES and (bool(others) or _small(first) not in AMBIGUOUS)


def _small(word: str) -> str:
    """Return a word without accents, capitals and full stops."""
    return "".join(char for char in normalize("NFD", word.rstrip(".")) if not combining(char)).lower()
