"""Small worlds for tests: random documents about few names, so that labels merge, split, vanish and return."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Fact, Mention, Vector
from graphtide.streams.messages import unit_key

NAMES = (
    "Ada Lovelace",
    "ada lovelace",
    "A. Lovelace",
    "Ada",
    "Ada Byron",
    "Countess of Lovelace",
    "Charles Babbage",
    "C. Babbage",
    "Babbage",
    "Analytical Engine",
    "The Analytical Engine",
    "Difference Engine",
    "Difference Engine No. 1",
    "Difference Engine No. 2",
    "Royal Society",
    "the Royal Society",
    "Analytical Engine Club (AEC)",
    "AEC",
    "Incident INC-482",
    "INC-482",
    "London",
    "Lord Byron",
    "George Gordon Byron",
    "Augustus De Morgan",
    "United Kingdom",
    "U.K.",
)
TYPES = ("", "", "person", "machine")
PREDICATES = ("designed", "wrote about", "member of", "lived in", "Knew", "knew")


def vector(text: str, dimensions: int = 16) -> Vector:
    """Return a deterministic unit vector of a text; texts that share words are near each other."""
    total = np.zeros(dimensions)
    for word in text.casefold().split():
        total += _direction(word, dimensions)
    return (total / np.linalg.norm(total)).astype(np.float16)


@lru_cache(2_000)
def _direction(word: str, dimensions: int) -> NDArray[np.float64]:
    """Return a deterministic direction of a word; a new generator for each takes 30 us."""
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dimensions)


def heading(text: str, mentions: Sequence[tuple[str, str, str]]) -> tuple[str, str]:
    """Return a heading that a model may give a passage: a title and a description, one of them, or none."""
    if not text.startswith("Passage "):
        return "", ""
    digest = hashlib.blake2b(f"{text} {mentions}".encode(), digest_size=2).digest()
    return ("", f"On {digest.hex()}", f"Of {text}")[digest[0] % 3], ("", "", f"About {digest.hex()}.")[digest[1] % 3]


def unit(
    text: str, mentions: Sequence[tuple[str, str, str]], facts: Sequence[tuple[int, str, int]]
) -> ChunkContribution:
    """Return a unit of (name, type, description) mentions and (subject, predicate, object) facts between them."""
    seen = tuple(
        Mention(name, type_, description, vector(f"{name} {description}")) for name, type_, description in mentions
    )
    stated = tuple(
        Fact(s, p, o, "", f"{seen[s].name} {p} {seen[o].name}.", 1000, vector(f"{seen[s].name} {p} {seen[o].name}"))
        for s, p, o in facts
    )
    called = heading(text, mentions)
    key = unit_key(text, vector(text), seen, stated, called)
    return ChunkContribution(key, text, 0, len(text), vector(text), seen, stated, *called)


def random_unit(rng: random.Random) -> ChunkContribution:
    mentions = list(
        dict.fromkeys(
            (rng.choice(NAMES), rng.choice(TYPES), rng.choice(("", "", "a pioneer", "of note")))
            for _ in range(rng.randint(1, 5))
        )
    )
    places = range(len(mentions))
    facts = {(rng.choice(places), rng.choice(PREDICATES), rng.choice(places)) for _ in range(rng.randint(0, 4))}
    return unit(f"Passage {rng.randint(1, 40)}.", mentions, sorted(facts))


def random_extraction(rng: random.Random, doc_id: str, revision: int, old: Extraction | None = None) -> Extraction:
    """Return a document of one to three units; as an edit it keeps some of the old ones, in some order."""
    units = [each for each in (old.units if old else ()) if rng.random() < 0.6]
    units += [random_unit(rng) for _ in range(rng.randint(0 if units else 1, 2))]
    rng.shuffle(units)
    info = DocumentInfo(f"Title {rng.randint(1, 3)}", rng.choice(("", "wire")), "", ())
    return Extraction(doc_id, revision, info, tuple(units))
