"""Blocking: the candidate pairs of labels, from keys computed of one label alone.

It is an index from key to labels; keys come from a label's words and vector. Two labels are a candidate pair when they
share a key in compatible roles: a shorter form (`SHORT`) and a fuller one (`FULL`), or two other forms of the same name
(`EQUAL`). Nearest-neighbour search would be approximate and depend on the order of arrival.

Invariant: a block with more than `MAX_BLOCK` members proposes nothing, whatever the order of arrival. So candidates are
a function of the set of live labels, and one label has at most `MAX_BLOCK` of them for each of its keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._blocks import Kernel
from graphtide.graph.resolution import cannot_link as guards
from graphtide.graph.resolution import lexicon as lx
from graphtide.graph.resolution.label_features import Signature
from graphtide.graph.resolution.short_forms import given_name, leading_name
from graphtide.graph.resolution.similarity import Quantised, acronyms

SHORT, FULL, EQUAL = 1, 2, 3
MAX_BLOCK = 24
TABLES, BITS = 6, 12
_MAX_WORDS = 9  # longer labels are sentences; they are compared whole

Key = str
Keys = dict[Key, int]
BlockKey = int


def lexical_keys(label: Signature) -> Keys:
    """Return keys from the words of a label, with its role in each. Cost: linear in the number of words, squared."""
    if label.is_generic:
        return {}
    bag = label.bag
    keys: Keys = {"J" + "".join(label.words + label.tail): EQUAL, "W" + " ".join(bag): EQUAL}
    if label.is_dated or len(bag) > _MAX_WORDS:
        return keys
    for rest in _reductions(label):
        _add(keys, "D" + " ".join(sorted(rest)), FULL)
    _add(keys, "D" + " ".join(bag), SHORT)
    if len(skeleton := " ".join(map(_skeleton, label.words))) > 3:
        keys["F" + skeleton] = EQUAL
    keys.update(_abbreviation_keys(label))
    if given := given_name(label):
        keys["G" + given] = SHORT
    if leading := leading_name(label):
        keys["G" + leading] = FULL
    if label.is_person:
        keys.update(_person_keys(guards.without_numbers(label.words), " ".join(label.numbers)))
    return keys


def vector_keys(label: Signature, vector: Quantised | None) -> Keys:
    """Return keys from the signs of projections with a fixed seed (Charikar 2002), each joined with a trace of the
    words.

    The trace keeps blocks small however many labels there are. At cosine 0.95 one of the six tables agrees with
    probability 0.85, at 0.90 with 0.64: these keys find pairs that the words' keys miss. Cost: `TABLES * BITS * d`
    multiplications.
    """
    if vector is None or label.is_generic or label.is_dated or len(label.words) > _MAX_WORDS:
        return {}
    # Both factors are whole numbers and every partial sum stays below 2**24, so the signs are exact in float32.
    positive = vector.astype(np.float32) @ _projections(vector.shape[0]) > 0
    signs = np.packbits(positive.reshape(TABLES, BITS), axis=1)
    words = label.words
    trace = words[0][:2] if len(words) == 1 else "".join(sorted(w[0] for w in words))
    trace += " ".join(label.numbers)
    return {f"L{table}{sign.tobytes().hex()}{trace}": EQUAL for table, sign in enumerate(signs)}


def _reductions(label: Signature) -> Iterator[tuple[str, ...]]:
    """Yield the words of possible shorter labels of the same entity."""
    words = label.words
    if label.tail:
        yield words
    if words[:2] in lx.COUNTRY_STARTS:
        yield words[2:] + label.tail
    for cut in range(1, len(words)):
        if all(w in lx.REGIONS or w in ("united", "state", "kingdom") for w in words[cut:]):
            yield words[:cut]
            break
    if len(words) < 2:
        return
    # Of a person's two names only the family name is used alone.
    for i in range(1 if label.is_person and len(words) == 2 else len(words)):
        rest = words[:i] + words[i + 1 :] + label.tail
        if len(rest) > 1 or (rest[0] not in lx.PARTS and not rest[0][0].isdigit()):
            yield rest
    if label.is_person and len(words) > 2 and not words[-1][0].isdigit():
        yield words[-1:]


def _abbreviation_keys(label: Signature) -> Keys:
    keys: Keys = {}
    if label.letters:
        keys["A" + label.letters] = SHORT
    elif len(label.words) > 2 and not label.is_person:
        keys.update({"A" + initials: FULL for initials in acronyms(label.words) if 3 <= len(initials) <= 6})
    if label.short_form:
        _add(keys, "A" + label.short_form, FULL)
    return keys


def _person_keys(words: tuple[str, ...], numbers: str) -> Keys:
    first, last = words[0], words[-1]
    given = lx.NICKNAMES.get(first, first)
    abbreviated = any(len(w) == 1 for w in words) or (len(words) == 2 and guards.is_letter_run(first))
    keys: Keys = {f"I{last} {first[0]} {numbers}": EQUAL if abbreviated else FULL}
    if given[0] != first[0]:
        keys[f"I{last} {given[0]} {numbers}"] = FULL
    if len(first) > 1:
        keys[f"N{last} {given} {numbers}"] = EQUAL
    if len(words) > 2:
        keys[f"P{words[0]} {words[1]} {numbers}"] = FULL
    elif len(words) == 2:
        keys[f"P{words[0]} {words[1]} {numbers}"] = SHORT
    return keys


def _add(keys: Keys, key: Key, role: int) -> None:
    keys[key] = keys.get(key, 0) | role


def _skeleton(word: str) -> str:
    """Return the first letter and the consonants, doubled ones once: spelling variants share them."""
    if not word.isalpha():
        return word
    kept = word[0]
    for c in word[1:]:
        if c not in "aeiouyh" and c != kept[-1]:
            kept += c
    return kept


@lru_cache(maxsize=4)
def _projections(dimensions: int) -> NDArray[np.float32]:
    # From a hash function and not a random generator, whose stream may differ between releases.
    count = dimensions * TABLES * BITS
    stream = shake_256(b"graphtide projections").digest((count + 7) // 8)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8))[:count].reshape(dimensions, TABLES * BITS)
    signs: NDArray[np.float32] = bits.astype(np.float32) * 2 - 1
    return signs


def roles_compatible(role: int, other: int) -> bool:
    """Return whether two members of a block with these roles are a candidate pair."""
    return bool((role & SHORT and other & FULL) or (role & FULL and other & SHORT))


class Blocks:
    """The index from key to labels, in the compiled kernel `_blocks`. It holds no scores and no vectors.

    Outside, a key is the upper 61 bits of its text's hash. A change costs the number of a label's keys, and returns the
    keys whose block closed or opened. Memory: about 16 bytes for each key of a label.
    """

    def __init__(self, max_block: int | None = None) -> None:
        """Create an empty index, whose blocks close above `max_block` members, by default `MAX_BLOCK`."""
        self._kernel = Kernel(MAX_BLOCK if max_block is None else max_block)

    def put(self, label: int, words: Keys | None, vector: Keys) -> list[BlockKey]:
        """Index a label under the keys of its words and of its vector, and no others.

        With None for `words` it keeps those that it has. Without any key the label has no candidates. Raises KeyError
        for None and an unknown label.
        """
        return self._kernel.put(label, words, vector)

    def remove(self, label: int) -> list[BlockKey]:
        """Remove a label. Raises KeyError if it is unknown."""
        return self._kernel.remove(label)

    def candidates(self, label: int) -> set[int]:
        """Return the labels that form a candidate pair with this one."""
        return set(self._kernel.candidates(label))

    def are_candidates(self, a: int, b: int) -> bool:
        """Return whether the two labels form a candidate pair now."""
        return self._kernel.are_candidates(a, b)

    def members(self, key: BlockKey) -> set[int]:
        """Return all labels in a block."""
        return set(self._kernel.members(key))

    def pairs(self, key: BlockKey) -> list[tuple[int, int]]:
        """Return the candidate pairs that this block proposes: none if it is closed."""
        return self._kernel.pairs(key)

    def memory_bytes(self) -> int:
        """Return the size of the index in bytes."""
        return self._kernel.memory_bytes()
