"""Token count: an estimate of a model's tokens in a text, without its tokenizer, which would have to be downloaded.

Invariant: the count of a text is at most the sum over its parts, cut at the ends of words.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\w{1,6}|[^\w\s]")


def count_tokens(text: str) -> int:
    """Return the estimated number of tokens: one per six characters of a word, and one per punctuation mark.

    The estimate is within a third of the usual tokenizers' count for English, and rather too high for other languages.
    Linear.
    """
    return sum(1 for _ in _TOKEN.finditer(text))
