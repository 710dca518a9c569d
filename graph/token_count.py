"""How many tokens a model would see in a text, without its tokenizer, which would have to be downloaded.

Invariant: the count of a text is at most that of its parts together, cut where words end.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")


def count_tokens(text: str) -> int:
    """Six characters of a word, or one mark, are a token: within a third of what the usual tokenizers count for
    English, and on the safe side elsewhere. Linear."""
    return sum(1 for _ in _TOKEN.finditer(text))
