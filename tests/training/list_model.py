"""The listwise ranker in training: the network of infra/models/local/listwise, in torch, with dropout.

Invariant: a parameter has the name and the shape of its array in the weights' file, and the logits are those of the
service's network, which train_ranker.py compares.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from graphtide.infra.models.local.answers.relevance import none_logit
from graphtide.infra.models.local.listwise.network import HEADS, TRAINED_WITH, adapter_hash
from tests.training.lists import ListExample

Tensor = Any
"""A tensor of torch, which is not installed where types are checked."""
WIDTH, LAYERS = 32, 2
_EXCLUDED = -1e9


@dataclass(frozen=True, slots=True)
class ListBatch:
    """Examples, padded to the longest one: (examples, units, …); which units exist, answer, or lead there; and the
    weight of the parts of each answer in the loss.
    """

    units: Tensor
    pairs: Tensor
    question: Tensor
    states: Tensor
    logits: Tensor
    exist: Tensor
    positive: Tensor
    neutral: Tensor
    part_weights: Tensor


@dataclass(frozen=True, slots=True)
class ListTensors:
    """Logits of units, (examples, units): as the best answer, as a part of it, and as what leads to it, which is
    computed in the training alone; and those of "nothing answers", (examples,).
    """

    answers: Tensor
    none: Tensor
    parts: Tensor
    leads: Tensor


class ListModel(nn.Module):  # type: ignore[misc]  # torch is not installed where types are checked
    """The network with its features' means and deviations over the examples to train on."""

    def __init__(self, examples: Sequence[ListExample], dropout: float) -> None:
        super().__init__()
        first, rows = examples[0], np.concatenate([example.features.units for example in examples])
        self.mean = nn.Parameter(torch.from_numpy(rows.mean(axis=0)), requires_grad=False)
        self.deviation = nn.Parameter(torch.from_numpy(rows.std(axis=0) + 1e-3), requires_grad=False)
        self.units = nn.Linear(first.features.units.shape[1], WIDTH)
        self.question = nn.Linear(len(first.features.question), WIDTH)
        self.states = nn.Linear(first.states.shape[1], WIDTH)
        self.layers = nn.ModuleList(_layer(first.features.pairs.shape[2]) for _ in range(LAYERS))
        self.answer, self.part, self.lead, self.none = (nn.Linear(WIDTH, 1) for _ in range(4))
        self.logit_scale, self.part_scale = nn.Parameter(torch.tensor(1.0)), nn.Parameter(torch.tensor(0.5))
        self._dropout = dropout
        for layer in (self.answer, self.part, self.lead, self.none):
            nn.init.zeros_(layer.weight)

    def forward(self, batch: ListBatch) -> ListTensors:
        """Return the logits of a batch."""
        hidden = self.units((batch.units - self.mean) / self.deviation) + self.question(batch.question)[:, None]
        hidden = self._drop(functional.gelu(hidden + self.states(self._drop(batch.states))))
        for layer in self.layers:
            hidden = hidden + self._drop(self._attend(layer, layer["attention_norm"](hidden), batch))
            inner = functional.gelu(layer["inner"](layer["inner_norm"](hidden)))
            hidden = hidden + self._drop(layer["outer"](inner))
        logits = (self.logit_scale * batch.logits + self.answer(hidden)[..., 0]).masked_fill(~batch.exist, _EXCLUDED)
        count = batch.exist.sum(1)
        best = hidden[torch.arange(len(hidden)), logits.argmax(1)]
        pooled = (hidden * batch.exist[..., None]).sum(1) / count[:, None] + best
        offset = torch.tensor([none_logit(int(each)) for each in count])
        parts = self.part_scale * batch.logits + self.part(hidden)[..., 0]
        return ListTensors(logits, self.none(pooled)[:, 0] + offset, parts, self.lead(hidden)[..., 0])

    def weights(self) -> dict[str, NDArray[Any]]:
        """Return the weights that the service's network has."""
        return {name: each.numpy() for name, each in self.state_dict().items() if not name.startswith("lead.")}

    def _attend(self, layer: Any, states: Tensor, batch: ListBatch) -> Tensor:
        examples, count, width = states.shape
        query, key, value = layer["qkv"](states).view(examples, count, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // HEADS)
        scores = scores + layer["pair_bias"](batch.pairs).permute(0, 3, 1, 2)
        shares = scores.masked_fill(~batch.exist[:, None, None], _EXCLUDED).softmax(-1)
        passed = (shares @ value).transpose(1, 2).reshape(examples, count, width)
        related = torch.einsum("bhij,bijp->bihp", shares, batch.pairs).reshape(examples, count, -1)
        return layer["output"](passed) + layer["pair_value"](related)

    def _drop(self, states: Tensor) -> Tensor:
        return functional.dropout(states, self._dropout, self.training)


def save_weights(models: Sequence[ListModel], path: Path, adapter: Path) -> None:
    """Write the weights of models as the service reads them, with the hash of the adapter that read the examples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {f"{number}/{name}": each for number, model in enumerate(models) for name, each in model.weights().items()}
    arrays[TRAINED_WITH] = np.frombuffer(adapter_hash(adapter), np.uint8)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _layer(pair_features: int) -> nn.ModuleDict:
    return nn.ModuleDict(
        {
            "attention_norm": nn.LayerNorm(WIDTH),
            "qkv": nn.Linear(WIDTH, 3 * WIDTH),
            "pair_bias": nn.Linear(pair_features, HEADS),
            "pair_value": nn.Linear(pair_features * HEADS, WIDTH, bias=False),
            "output": nn.Linear(WIDTH, WIDTH),
            "inner_norm": nn.LayerNorm(WIDTH),
            "inner": nn.Linear(WIDTH, 2 * WIDTH),
            "outer": nn.Linear(2 * WIDTH, WIDTH),
        }
    )


def list_batch(examples: Sequence[ListExample]) -> ListBatch:
    """Return examples as one batch."""
    longest = max(len(example.logits) for example in examples)

    def padded(arrays: Sequence[NDArray[Any]], axes: int) -> Tensor:
        found = np.zeros((len(arrays), *(longest,) * axes, *arrays[0].shape[axes:]), arrays[0].dtype)
        for row, array in zip(found, arrays, strict=True):
            row[tuple(slice(size) for size in array.shape[:axes])] = array
        return torch.from_numpy(found)

    def marked(places: Iterable[Iterable[int]]) -> Tensor:
        found = torch.zeros((len(examples), longest), dtype=torch.bool)
        for row, chosen in zip(found, places, strict=True):
            row[list(chosen)] = True
        return found

    return ListBatch(
        padded([example.features.units for example in examples], 1),
        padded([example.features.pairs for example in examples], 2),
        torch.from_numpy(np.stack([example.features.question for example in examples])),
        padded([example.states.astype(np.float32) for example in examples], 1),
        padded([example.logits for example in examples], 1),
        marked(range(len(example.logits)) for example in examples),
        marked(example.positives.tolist() for example in examples),
        marked(example.neutral.tolist() for example in examples),
        torch.tensor([example.part_weight for example in examples]),
    )
