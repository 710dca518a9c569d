"""Documents of any number for the benches of the cluster: text, and the facts that it states, so no model is needed.

`document_stream` decides which entities a document relates: topics, skew, hubs, growth. Names are made of syllables, so
that they differ as real names do; a number in a name would put all of them in one block of candidates.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

from tests.bench.document_stream import documents

EDGES = 8
SEED = 5
_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_VERBS = ("funded", "visited", "taught", "rebuilt", "described", "followed", "opposed", "supplied")

Body = dict[str, Any]


def name(number: int) -> str:
    """Return two words of three syllables, the same for the same number."""
    drawn = blake2b(number.to_bytes(8, "big"), digest_size=12).digest()
    syllables = [
        _CONSONANTS[drawn[place] % len(_CONSONANTS)] + _VOWELS[drawn[place + 1] % len(_VOWELS)]
        for place in range(0, len(drawn), 2)
    ]
    return f"{''.join(syllables[:3]).title()} {''.join(syllables[3:]).title()}"


def bodies(count: int, *, facts: bool = True, seed: int = SEED, edges: int = EDGES) -> Iterator[Body]:
    """Return HTTP bodies of documents with their ids; about `edges` relations each. Without `facts`, text only."""
    for number, pairs in enumerate(documents(seed, count, edges_per_document=edges)):
        facts_stated = [(name(int(u)), _VERBS[int(u + v) % len(_VERBS)], name(int(v))) for u, v in pairs]
        body: Body = {"id": f"d{number}", "text": " ".join(f"{a} {verb} {b}." for a, verb, b in facts_stated)}
        if facts:
            body["facts"] = [{"subject": a, "predicate": verb, "object": b} for a, verb, b in facts_stated]
        yield body
