"""Speakers of messages and of transcripts: the name before the colon is context of all sentences of a message.

A label counts as a speaker if a date or a time is before it, if it is capitalised like a name and the message says "I"
or "we", or if it opens several messages of a passage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from graphtide.infra.documents.line_starts import STAMP

_SENDER = re.compile(r"[\s\u2013\u2014-]{0,5}([^\W\d_][^:\n<>]{0,39}):\s")
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]{0,24}(?: [^\W\d_][\w.'\u2019-]{0,24}){0,2}")
_FIRST_PERSON = re.compile(r"\b(?:I|I['\u2019]\w{1,2}|[Ww]e|[Mm]y|[Oo]ur|[Mm]e|[Uu]s)\b")
_MIN_MESSAGES = 2


def speakers_of(blocks: Mapping[int, str]) -> dict[int, str]:
    """Return the speaker of each block of a passage that is a message, from the texts of the blocks. Cost: linear."""
    stamped: dict[int, str] = {}
    named: dict[int, str] = {}
    for block, text in blocks.items():
        stamp = STAMP.match(text)
        found = _SENDER.match(text, stamp.end() if stamp else 0)
        if found is None:
            continue
        if stamp is not None:
            stamped[block] = found[1].strip()
        elif _NAME.fullmatch(found[1]) and all(word[0].isupper() for word in found[1].split()):
            named[block] = found[1]
    counts = Counter(named.values())
    return stamped | {
        block: name
        for block, name in named.items()
        if counts[name] >= _MIN_MESSAGES or _FIRST_PERSON.search(blocks[block], len(name))
    }
