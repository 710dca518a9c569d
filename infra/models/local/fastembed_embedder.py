"""Any embedding model that the package fastembed knows, by its name. The first use fetches it from its hub.

Every text is a batch of its own, so that a vector does not depend on the other texts of a call.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.streams.errors import Broken
from graphtide.streams.scheduling.work_pool import WorkPool

_PORTION = 8


class FastembedEmbedder:
    """The Embedder on a model of fastembed (see the module). It runs in `pool`."""

    def __init__(self, model: str, pool: WorkPool | None = None) -> None:
        """Load the model. Raises Broken when the package or the model is not available."""
        self._model = model
        self._loaded = _load(model)
        self._pool = pool or WorkPool()
        self._dimensions: int = self._embed(["dimension"]).shape[1]

    @property
    def name(self) -> str:
        return f"fastembed/{self._model}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``streams.model_ports.Embedder``. Cost: that of the model."""
        rows = np.empty((len(texts), self._dimensions), np.float32)
        for start in range(0, len(texts), _PORTION):
            some = texts[start : start + _PORTION]
            rows[start : start + _PORTION] = await self._pool.run(partial(self._embed, some))
        return rows

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        valid = [text.encode("utf-8", "replace").decode() for text in texts]
        rows = np.stack(list(self._loaded.embed(valid, batch_size=1))).astype(np.float64)
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def _load(model: str) -> Any:
    if importlib.util.find_spec("fastembed") is None:
        raise Broken(
            f"the embedding model fastembed:{model} needs the package fastembed, which is not installed: run"
            " pip install fastembed, or set GRAPHTIDE_EMBEDDING_MODEL to another model"
        )
    from fastembed import TextEmbedding

    try:
        return TextEmbedding(model, threads=1)
    except Exception as error:  # the hub's client raises errors of several libraries
        raise Broken(
            f"fastembed cannot load the model {model!r} ({type(error).__name__}: {str(error)[:200]}): check its name"
            " (fastembed.TextEmbedding.list_supported_models()) and that huggingface.co can be reached, or set"
            " GRAPHTIDE_EMBEDDING_MODEL to a model that needs no network: wordllama, minilm"
        ) from error
