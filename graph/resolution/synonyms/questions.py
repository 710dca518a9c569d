"""Questions to a judge about a pair of labels, and the stored form of its verdicts.

A pair that rules find is asked about by its names alone, so its verdict is permanent. A pair that vectors find is asked
about with the statements of both labels, and its verdict is that of these statements: when they change, the pair is
asked about again, and the earlier verdict applies until the new one arrives.

A verdict is stored as one integer: its lowest bit tells if the two are the same, the others are the fingerprint of the
contexts that the judge saw, 0 for none. Verdicts of earlier releases are 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from graphtide.graph.resolution.pair_scoring import PairKey, Verdict

Context = tuple[str, ...]
"""Statements about a label, each one line, a function of the live graph."""


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """A question to a judge: do both labels denote one entity? `contexts` are in the pair's order, None without."""

    pair: PairKey
    contexts: tuple[Context, Context] | None = None

    def verdict(self, same: bool) -> Verdict:
        """Return the stored form of the answer."""
        return (0 if self.contexts is None else pair_fingerprint(*self.contexts)) << 1 | same


def is_same(verdict: Verdict) -> bool:
    """Return whether the judge decided that the two labels denote one entity."""
    return bool(verdict & 1)


def fingerprint_of(verdict: Verdict) -> int:
    """Return the fingerprint of the contexts that the judge saw; 0 when it saw the names alone."""
    return verdict >> 1


def pair_fingerprint(first: Context, second: Context) -> int:
    """Return a fingerprint of 61 bits, never 0, of the contexts in the pair's order."""
    text = "\0".join((*first, "\0", *second)).encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest()) >> 3 | 1
