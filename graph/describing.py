"""What the live documents say an entity is: their descriptions of it put together, under a bound of tokens.

Not a summary that somebody wrote: each sentence is one of a document's descriptions, as extraction gave it. Invariant:
the text is a function of the live descriptions and of how often each is given, whatever order they came in; when a
document goes, what only it said of the entity goes with it.

After GraphRAG's summaries of elements, which a language model writes. Deviation: none is asked here, so that reading an
entity costs nothing, and its description cannot outlive its sources.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from heapq import nsmallest

from graph.tokens import count_tokens
from graph.view import LiveView

MOST_TOKENS = 500
MOST_READ = 1_000
"""Passages that are looked at, of an entity that stands in more: the first by name."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])\s+")
_MARKS = ".!?\u2026\u3002\uff01\uff1f"


def described(view: LiveView, node: int, most_tokens: int = MOST_TOKENS) -> str:
    """What is said of the entity, the most frequent first, equal ones by text; cut where a sentence ends.

    Empty where no document describes it. Call under `view.lock.read()`. Cost: its passages, and what MOST_READ of them
    mention.
    """
    return joined(_given(view, node), most_tokens)


def joined(given: Counter[str], most_tokens: int = MOST_TOKENS) -> str:
    """Descriptions with how often each is given, as one text. What is contained in one before it is left out.

    The first sentence alone, if it is above the bound, is cut where a word ends.
    """
    said: list[str] = []
    left = most_tokens
    for text, _ in sorted(given.items(), key=lambda pair: (-pair[1], pair[0])):
        if any(text.casefold() in one.casefold() for one in said):
            continue
        taken = list(_fitting(text, left))
        if not taken:
            break
        said.append(" ".join(taken))
        left -= sum(map(count_tokens, taken))
        if said[-1] != _ended(text):
            break
    if not said and given:
        said = [_first_words(min(given, key=lambda text: (-given[text], text)), most_tokens)]
    return " ".join(said)


def sentences(text: str) -> list[str]:
    """The text's sentences, white space folded, as far as marks and white space tell."""
    return [one for one in _SENTENCE_END.split(" ".join(text.split())) if one]


def _given(view: LiveView, node: int) -> Counter[str]:
    entity = view.entities[node]
    given: Counter[str] = Counter()
    for chunk in nsmallest(MOST_READ, entity.chunks, key=lambda number: view.chunks[number].chunk_id):
        for mention in view.chunks[chunk].mentions:
            if view.labels[mention.label].node == node and mention.description.strip():
                given[" ".join(mention.description.split())] += mention.count
    return given


def _fitting(text: str, most_tokens: int) -> Iterator[str]:
    for sentence in sentences(_ended(text)):
        most_tokens -= count_tokens(sentence)
        if most_tokens < 0:
            return
        yield sentence


def _ended(text: str) -> str:
    return text if text[-1] in _MARKS else f"{text}."


def _first_words(text: str, most_tokens: int) -> str:
    words = text.split()
    while words and count_tokens(" ".join(words)) >= most_tokens:
        words = words[: min(len(words) - 1, len(words) * 9 // 10)]
    return " ".join([*words, "\u2026"]) if words else ""
