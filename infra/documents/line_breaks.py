"""The author's line breaks, told from those of a width at which text was wrapped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from graphtide.infra.documents.line_starts import BEFORE_WRAP, ends_within
from graphtide.infra.models.local.english.lexical.words import word_set

_MIN_OWN, _OPEN_SHARE = 2, 3
_ENDS = (".", "!", "?", ":", ";")
_MIN_NOTES, _FULL_SHARE = 3, 4 / 3
_CONTINUING = BEFORE_WRAP - word_set("a an the our his her its")
"""Words at the beginning of a line that continue a sentence."""
_SENTENCE_WITHIN = re.compile(r"[.!?] [A-Z]")


def are_authors(lines: Sequence[str]) -> bool:
    """Return whether the author ended these lines, so that each states something of its own, as in short notes.

    Wrapped text breaks where the next word would pass the longest line, and mostly within a sentence. So a break before
    a capital or a figure that had room is the author's, and one before a small letter that had none is the width's. A
    paragraph with a sentence a line remains one: of the author's breaks, a third has to be after no end of a sentence.
    Lines in small letters are the author's if a quarter had room and none ends within a sentence: "call the plumber".
    Cost: linear.
    """
    if _are_small_notes(lines):
        return True
    width = max(map(len, lines), default=0)
    own = after_no_end = wrapped = 0
    for above, below in pairwise(lines):
        word = next(iter(below.split(maxsplit=1)), "")
        has_room, is_small = len(above) + 1 + len(word) <= width, word[:1].islower()
        if has_room and not is_small and not above.endswith(","):
            own += 1
            after_no_end += not above.endswith(_ENDS)
        wrapped += is_small and not has_room
    return own >= _MIN_OWN and own > wrapped and after_no_end * _OPEN_SHARE >= own


def _are_small_notes(lines: Sequence[str]) -> bool:
    """Return whether the lines are notes in small letters: a quarter of them had room for the first word of the next,
    which wrapping at a width leaves none, and no sentence continues beyond its line.
    """
    if len(lines) < _MIN_NOTES or sum(line[:1].islower() for line in lines[1:]) < _MIN_OWN:
        return False
    width = max(map(len, lines))
    full = within = 0
    for above, below in pairwise(lines):
        word = below.split(maxsplit=1)[0].lower()
        full += len(above) + 1 + len(word) > width and not above.endswith(_ENDS)
        within += ends_within(above) or word in _CONTINUING or bool(_SENTENCE_WITHIN.search(above))
    return not within and _FULL_SHARE * full <= len(lines) - 1
