"""The author's line breaks, told from those of a width at which text was wrapped."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

_MIN_OWN, _OPEN_SHARE = 2, 3
_ENDS = (".", "!", "?", ":", ";")


def are_authors(lines: Sequence[str]) -> bool:
    """Return whether the author ended these lines, so that each states something of its own, as in short notes.

    Wrapped text breaks where the next word would pass the longest line, and mostly within a sentence. So a break before
    a capital or a figure that had room is the author's, and one before a small letter that had none is the width's. A
    paragraph with a sentence a line remains one: of the author's breaks, a third has to be after no end of a sentence.
    Cost: linear.
    """
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
