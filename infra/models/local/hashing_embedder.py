"""Vectors without a model: words and their letter n-grams hashed into a fixed number of signed dimensions.

The vectors have no semantics: texts are similar as far as they share words and parts of words. Weinberger et al. 2009
(feature hashing with signs), sublinear term frequency, closed-class words damped because word frequencies are unknown.
Invariant: the sums are integers and only the last step is a division, so that a text has the same vector, to the last
bit, in every process and on every machine.
"""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.english.lexical.words import OPENERS
from graphtide.streams.scheduling.work_pool import WorkPool

_WORD = re.compile(r"[^\W_]{1,48}")  # a longer run is cut, which separates and bounds texts without spaces
_SCALE = 256
_WORD_WEIGHT, _GRAM_WEIGHT, _PAIR_WEIGHT, _CLOSED_SHARE = 3, 1, 2, 0.15
_WORD_SLOTS = 4
_MIX = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: distinguishes the pair (a, b) from (b, a)
_SMALL_CHARS = 2_000
_CHUNK = 256
"""Texts embedded in one unit of work, so that graphs take turns."""


class HashingEmbedder:
    """The Embedder that needs no model (see the module). It runs in `pool`."""

    def __init__(self, dimensions: int = 384, pool: WorkPool | None = None) -> None:
        if dimensions < 8:
            raise ValueError(f"dimensions is {dimensions}: at least 8 are needed to distinguish texts")
        self._dimensions = dimensions
        self._pool = pool or WorkPool()

    @property
    def name(self) -> str:
        return f"offline-hashing-1-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``streams.model_ports.Embedder``. Never raises. Cost: about 0.5 ms for 500 characters of new words."""
        rows = np.empty((len(texts), self._dimensions), np.float32)
        for start in range(0, len(texts), _CHUNK):
            some = texts[start : start + _CHUNK]
            small = sum(map(len, some)) <= _SMALL_CHARS
            rows[start : start + _CHUNK] = await self._pool.run(partial(self._embed, some), small=small)
        return rows

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.empty((len(texts), self._dimensions), np.float32)
        for row, text in enumerate(texts):
            rows[row] = self._vector(text)
        return rows

    def _vector(self, text: str) -> NDArray[np.float64]:
        words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
        total = np.zeros(self._dimensions, np.int64)
        for word, count in Counter(words).items():
            share = _CLOSED_SHARE if word in OPENERS else 1.0
            weight = round(_SCALE * share * (1 + math.log(count)))
            total += np.multiply(_word_vector(word, self._dimensions), weight, dtype=np.int64)
        for (first, second), count in Counter(pairwise(words)).items():
            number = (_number(first) * _MIX + _number(second)) % 2**64 >> 16
            share = _CLOSED_SHARE if first in OPENERS or second in OPENERS else 1.0
            weight = round(_SCALE * _PAIR_WEIGHT * share * (1 + math.log(count)))
            total[number // 2 % self._dimensions] += weight if number % 2 else -weight
        if not total.any():  # no words, or the rare case that all cancel out: the vector is made of the characters
            slot, sign = _slots("\0" + text.strip(), self._dimensions, 1)[0]
            total[slot] = sign
        return total / math.sqrt(int(total @ total))


@lru_cache(maxsize=16_384)
def _word_vector(word: str, dimensions: int) -> NDArray[np.int16]:
    """Return the word in four slots, and its letter 3- to 5-grams in one each, so that "drill" is near "drilling"."""
    vector = np.zeros(dimensions, np.int16)
    for slot, sign in _slots(word, dimensions, _WORD_SLOTS):
        vector[slot] += _WORD_WEIGHT * sign
    padded = f"<{word}>"
    for size in (3, 4, 5):
        for at in range(len(padded) - size + 1):
            slot, sign = _slots(padded[at : at + size], dimensions, 1)[0]
            vector[slot] += _GRAM_WEIGHT * sign
    vector.setflags(write=False)
    return vector


@lru_cache(maxsize=65_536)
def _number(feature: str) -> int:
    return int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@lru_cache(maxsize=65_536)
def _slots(feature: str, dimensions: int, count: int) -> tuple[tuple[int, int], ...]:
    """Return the slots and signs of a feature, from a keyless hash, so the same in every process."""
    digest = blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8 * count).digest()
    numbers = (int.from_bytes(digest[at : at + 8], "little") for at in range(0, 8 * count, 8))
    return tuple((number // 2 % dimensions, 1 if number % 2 else -1) for number in numbers)
