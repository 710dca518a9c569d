"""Speakers of messages and of transcripts: the name before the colon is context of all sentences of a message.

The label of a line with a date or a time counts as a speaker where nearly all such lines of a passage have one; any
other label if it opens several paragraphs, or the message says "I" or "we" and a label is a given name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from graphtide.graph.resolution.given_names import GIVEN_NAMES
from graphtide.infra.documents.line_starts import STAMP

_SENDER = re.compile(r"[\s\u2013\u2014-]{0,5}([^\W\d_][^:\n<>\d]{0,39}):\s")
_NAME = re.compile(r"[^\W\d_][\w.'\u2019-]{0,24}(?: [^\W\d_][\w.'\u2019-]{0,24}){0,2}")
_FIRST_PERSON = re.compile(r"\b(?:I|I['\u2019]\w{1,2}|[Ww]e|[Mm]y|[Oo]ur|[Mm]e|[Uu]s)\b")
_MIN_MESSAGES, _NEARLY_ALL = 2, 0.8


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
    persons = any(name.split(" ", 1)[0].lower() in GIVEN_NAMES for name in senders.values())
    counts = Counter(name for block, name in senders.items() if block not in stamps)
    return stamped | {
        block: name
        for block, name in senders.items()
        if block not in stamps
        and (counts[name] >= _MIN_MESSAGES or (persons and _FIRST_PERSON.search(blocks[block], len(name))))
    }


def _is_name(label: str, stamped: bool) -> bool:
    """Return whether a label has the form of a name; beside a time it may be one word in small letters."""
    words = label.split()
    capitals = all(word[0].isupper() for word in words)
    return _NAME.fullmatch(label.strip()) is not None and (capitals or (stamped and len(words) == 1))
