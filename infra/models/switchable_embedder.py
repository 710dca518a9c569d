"""An embedder whose model is replaced while the process runs, at once for all its users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphtide.streams.model_ports import Embedder


class SwitchableEmbedder:
    """The Embedder of the model that is in use: `old` until `switch`, then `new`.

    Invariant: a call uses one model, the one that is in use when the call begins.
    """

    def __init__(self, old: Embedder, new: Embedder) -> None:
        self._used = old
        self._new = new

    @property
    def name(self) -> str:
        return self._used.name

    @property
    def dimensions(self) -> int:
        return self._used.dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See ``streams.model_ports.Embedder``."""
        return await self._used.embed(texts)

    def switch(self) -> None:
        """Use the new model from now on."""
        self._used = self._new
