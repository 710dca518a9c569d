"""The cross-encoder in training: all-MiniLM-L6-v2, whose matrices stay as they are, and an adapter, which is trained.

The adapter is a low-rank change of each matrix (LoRA, Hu et al. 2021, equation 3), the biases, normalisations and token
types in full, and a head of two layers. Deviations: the scale is in the factors; the products of the layers are
computed in bfloat16 where the processor has instructions for it, since a step takes thirty times as long without them,
and those of the attention, which are slow in it, in float32. Invariants: a parameter has the key of its array in the
adapter's file; an adapter without training changes no matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from graphtide.infra.models.local.cross_encoder.pairs import TokenBatch, TokenPair, batch_of, by_length
from graphtide.infra.models.local.cross_encoder.weights import LAYERS, MATRICES
from tests.training.base_model import BaseWeights, base_weights

Tensor = Any
"""A tensor of torch, which is not installed where types are checked."""
RANK, HIDDEN, HEADS = 24, 128, 12
"""Rank of the changes, width of the head's first layer, and attention heads of the model."""
READ_BATCH_SIZE = 32
PRECISION = torch.bfloat16 if torch.ops.mkldnn._is_mkldnn_bf16_supported() else torch.float32
_EPSILON = 1e-12


def new_adapter(base: BaseWeights) -> dict[str, NDArray[Any]]:
    """Return an adapter without training. Torch's random numbers choose the factors and the head."""
    arrays: dict[str, NDArray[Any]] = dict(base.small)
    for key, matrix in base.matrices.items():
        rows, columns = matrix.shape
        arrays[f"{key}.a"] = (torch.randn(rows, RANK) / math.sqrt(rows)).numpy()
        arrays[f"{key}.b"] = np.zeros((RANK, columns), np.float32)
    pooled = 2 * base.words.shape[1]
    arrays["dense"], arrays["dense_bias"] = _uniform(pooled, HIDDEN, pooled), _uniform(HIDDEN, pooled)
    arrays["out"], arrays["out_bias"] = _uniform(HIDDEN, HIDDEN), np.zeros((), np.float32)
    return arrays


def _uniform(*shape_and_inputs: int) -> NDArray[Any]:
    """Return random numbers of a shape, which is followed by the number of the layer's inputs, as nn.Linear does."""
    *shape, inputs = shape_and_inputs
    array: NDArray[Any] = ((2 * torch.rand(shape) - 1) / math.sqrt(inputs)).numpy()
    return array


@dataclass(frozen=True, slots=True)
class _Packing:
    """The places of the tokens in a padded batch: the layers compute no padding, only the attention does."""

    mask: Tensor
    places: Tensor

    def padded(self, packed: Tensor) -> Tensor:
        """Return (pairs, longest, width) of (tokens, width)."""
        rows, longest = self.mask.shape
        zeros = torch.zeros(rows * longest, packed.shape[1], dtype=packed.dtype)
        return zeros.index_copy(0, self.places, packed).view(rows, longest, -1)

    def packed(self, padded: Tensor) -> Tensor:
        """Return (tokens, width) of (pairs, longest, width)."""
        return padded.reshape(-1, padded.shape[2]).index_select(0, self.places)


class AdapterModel:
    """The cross-encoder with an adapter in training."""

    def __init__(self, adapter: Mapping[str, NDArray[Any]] | None = None) -> None:
        """Begin with an adapter, or without training. Raises Broken for another model than the service's."""
        base = base_weights()
        self._words, self._positions = torch.from_numpy(base.words), torch.from_numpy(base.positions)
        self._matrices = {key: torch.from_numpy(each).to(PRECISION) for key, each in base.matrices.items()}
        started = new_adapter(base) if adapter is None else adapter
        self.parameters: dict[str, Tensor] = {
            key: torch.tensor(array, dtype=torch.float32, requires_grad=True) for key, array in started.items()
        }

    def logits(self, batch: TokenBatch) -> Tensor:
        """Return a logit for each pair of a batch, as (pairs,)."""
        return self._last(self.states(batch))

    def read(self, pairs: Sequence[TokenPair]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the logits of pairs and the states of the head's hidden layer, without gradients."""
        order = by_length(pairs)
        states = np.zeros((len(pairs), HIDDEN), np.float32)
        with torch.no_grad():
            for start in range(0, len(order), READ_BATCH_SIZE):
                places = order[start : start + READ_BATCH_SIZE]
                states[places] = self.states(batch_of([pairs[place] for place in places])).numpy()
            return self._last(torch.from_numpy(states)).numpy(), states

    def states(self, batch: TokenBatch) -> Tensor:
        """Return the states of the head's hidden layer, as (pairs, HIDDEN)."""
        with torch.autocast("cpu", dtype=PRECISION, enabled=PRECISION is not torch.float32):
            return self._states(batch)

    def _states(self, batch: TokenBatch) -> Tensor:
        ids, types, lengths = map(torch.from_numpy, (batch.ids, batch.types, batch.lengths))
        mask = torch.arange(ids.shape[1])[None] < lengths[:, None]
        packing = _Packing(mask, mask.reshape(-1).nonzero()[:, 0])
        embedded = self._words[ids] + self._positions[: ids.shape[1]] + self.parameters["types"][types]
        hidden = self._norm(packing.packed(embedded), "eln")
        for layer in range(LAYERS):
            hidden = self._transform(layer, hidden, packing)
        padded = packing.padded(hidden).float()
        pooled = torch.cat([padded[:, 0], padded.sum(1) / lengths[:, None]], 1)
        with torch.autocast("cpu", enabled=False):
            return torch.tanh(pooled @ self.parameters["dense"] + self.parameters["dense_bias"])

    def _last(self, states: Tensor) -> Tensor:
        return states @ self.parameters["out"] + self.parameters["out_bias"]

    def save(self, path: Path) -> None:
        """Write the adapter as the service reads it: in half precision, except the last bias."""
        arrays = {key: values.detach().numpy().astype(np.float16) for key, values in self.parameters.items()}
        arrays["out_bias"] = self.parameters["out_bias"].detach().numpy()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            np.savez(file, **arrays)

    def _transform(self, layer: int, hidden: Tensor, packing: _Packing) -> Tensor:
        """Return the states after a layer of the transformer, (tokens, width)."""
        attended = self._linear(self._attend(layer, hidden, packing), f"{layer}.o")
        hidden = self._norm(hidden + attended, f"{layer}.ln1")
        inner = functional.gelu(self._linear(hidden, f"{layer}.i"))
        return self._norm(hidden + self._linear(inner, f"{layer}.f"), f"{layer}.ln2")

    def _attend(self, layer: int, hidden: Tensor, packing: _Packing) -> Tensor:
        query, key, value = (
            packing.padded(self._linear(hidden, f"{layer}.{part}").float()).unflatten(2, (HEADS, -1)).transpose(1, 2)
            for part in MATRICES[:3]
        )
        mask = packing.mask[:, None, None]
        with torch.autocast("cpu", enabled=False):
            found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return packing.packed(found.transpose(1, 2).flatten(2))

    def _linear(self, states: Tensor, key: str) -> Tensor:
        whole = torch.addmm(self.parameters[f"{key}.bias"], states, self._matrices[key])
        return whole + states @ self.parameters[f"{key}.a"] @ self.parameters[f"{key}.b"]

    def _norm(self, states: Tensor, key: str) -> Tensor:
        scale, shift = self.parameters[f"{key}_w"], self.parameters[f"{key}_b"]
        return functional.layer_norm(states, scale.shape, scale, shift, _EPSILON)


def read_adapter(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an adapter's file."""
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
