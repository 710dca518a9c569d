"""The network of the listwise ranker: two logits for each unit of a shortlist, and one for "nothing answers".

Each unit is a vector of its features, those of the question, and the cross-encoder's state; layers of self-attention
over the units (a set, as in Pang et al. 2020, SetRank, section 3) let them see each other. Deviations: features of
each pair of units are a bias of the attention and a part of what it passes on (as in Shaw et al. 2018), and the
cross-encoder's logit is added to the last layer's. Invariant: without rounding, the order of the units changes
nothing. One logit of a unit is for the best answer, the other for a part of it, which each item of a list is. The
weights are in `weights.npz`, which tests/training makes: those of three networks, trained with other random numbers.
The mean of their logits is used, as each has its chance errors (Lakshminarayanan et al. 2017, section 2.4, with the
mean of logits in place of that of probabilities).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.relevance import none_logit
from graphtide.infra.models.local.cross_encoder.weights import ADAPTER
from graphtide.infra.models.local.listwise.features import ListFeatures
from graphtide.streams.errors import Broken

Array = NDArray[np.float32]
WEIGHTS = Path(__file__).with_name("weights.npz")
TRAINED_WITH = "trained_with"
"""The array of the weights' file with the hash of the adapter whose states the network was trained on."""
HEADS = 4
_EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class ListLogits:
    """Logits of each unit, as (units,): as the best answer, which compete with `none`, and as a part of the answer."""

    units: Array
    none: float
    parts: Array


class ListEnsemble:
    """Networks of which the mean of their logits is used."""

    def __init__(self, members: Sequence[ListNetwork]) -> None:
        self._members = members

    def logits(self, features: ListFeatures, logits: Array, states: Array) -> ListLogits:
        """Return the mean of the members' logits; see ListNetwork. Cost: that of each of them."""
        found = [member.logits(features, logits, states) for member in self._members]
        return ListLogits(
            np.mean([each.units for each in found], axis=0),
            sum(each.none for each in found) / len(found),
            np.mean([each.parts for each in found], axis=0),
        )


class ListNetwork:
    """A network with its weights, by the names that tests/training/list_model.py gives them."""

    def __init__(self, weights: Mapping[str, NDArray[np.floating]]) -> None:
        self._weights = {name: np.asarray(values, np.float32) for name, values in weights.items()}
        self._layers = sum(name.endswith(".qkv.weight") for name in weights)

    def logits(self, features: ListFeatures, logits: Array, states: Array) -> ListLogits:
        """Return the logits of a shortlist of one or more units from its features, the cross-encoder's logits, and its
        states, as (units, width). Cost: 0.7 ms for 48.
        """
        units = (features.units - self._weights["mean"]) / self._weights["deviation"]
        hidden = self._linear(units, "units") + self._linear(features.question, "question")
        hidden = _gelu(hidden + self._linear(states, "states"))
        for layer in range(self._layers):
            hidden = self._transform(f"layers.{layer}", hidden, features.pairs)
        found = self._weights["logit_scale"] * logits + self._linear(hidden, "answer")[:, 0]
        pooled = hidden.mean(axis=0) + hidden[int(found.argmax())]
        none = float(self._linear(pooled, "none")[0]) + none_logit(len(found))
        parts = self._weights["part_scale"] * logits + self._linear(hidden, "part")[:, 0]
        return ListLogits(found, none, parts)

    def _transform(self, layer: str, hidden: Array, pairs: Array) -> Array:
        attended = self._attend(layer, self._norm(hidden, f"{layer}.attention_norm"), pairs)
        hidden = hidden + attended
        inner = _gelu(self._linear(self._norm(hidden, f"{layer}.inner_norm"), f"{layer}.inner"))
        return hidden + self._linear(inner, f"{layer}.outer")

    def _attend(self, layer: str, states: Array, pairs: Array) -> Array:
        """Return what each unit takes from all: their values, and the features of its pairs with them, by head."""
        count, width = states.shape
        query, key, value = self._linear(states, f"{layer}.qkv").reshape(count, 3, HEADS, -1).transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // HEADS)
        shares = _softmax(scores + self._linear(pairs, f"{layer}.pair_bias").transpose(2, 0, 1))
        passed = (shares @ value).transpose(1, 0, 2).reshape(count, width)
        related = np.einsum("hij,ijp->ihp", shares, pairs).reshape(count, -1)
        return self._linear(passed, f"{layer}.output") + self._linear(related, f"{layer}.pair_value")

    def _linear(self, states: Array, name: str) -> Array:
        found: Array = states @ self._weights[f"{name}.weight"].T
        bias = self._weights.get(f"{name}.bias")
        return found if bias is None else found + bias

    def _norm(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + _EPSILON)
        found: Array = centred / deviation * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return found


@lru_cache(maxsize=1)
def list_network() -> ListEnsemble:
    """Return the networks with the weights of the package, read once. Raises Broken if they are missing, damaged, or of
    another adapter of the cross-encoder.
    """
    try:
        weights = read_weights(WEIGHTS)
        if weights[TRAINED_WITH].tobytes() != adapter_hash():
            raise ValueError("they belong to another adapter of the cross-encoder")
        return ensemble_of(weights)
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise Broken(
            f"the listwise ranker's weights in {WEIGHTS} cannot be used ({type(error).__name__}: {error}): install"
            " Graphtide again, or set GRAPHTIDE_ANSWER_MODEL=rules"
        ) from error


def ensemble_of(weights: Mapping[str, NDArray[np.floating]]) -> ListEnsemble:
    """Return the networks of a file's arrays, which have the names "0/NAME", "1/NAME" and so on. Raises ValueError."""
    members: dict[str, dict[str, NDArray[np.floating]]] = {}
    for name, values in weights.items():
        if name == TRAINED_WITH:
            continue
        number, separator, own = name.partition("/")
        if not separator:
            raise ValueError(f"{name} belongs to no network")
        members.setdefault(number, {})[own] = values
    if not members:
        raise ValueError("no network in it")
    return ListEnsemble([ListNetwork(each) for each in members.values()])


def adapter_hash(adapter: Path = ADAPTER) -> bytes:
    """Return the SHA-256 of an adapter's file."""
    return hashlib.sha256(adapter.read_bytes()).digest()


def read_weights(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a weights' file by their names. Raises OSError, ValueError or BadZipFile."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return dict(arrays)


def _gelu(values: Array) -> Array:
    found: Array = values * (0.5 * (1.0 + _erf(values / math.sqrt(2.0)))).astype(np.float32)
    return found


def _erf(values: Array) -> Array:
    """Return the error function to 1.5e-7 (Abramowitz and Stegun 1964, 7.1.26)."""
    size = np.abs(values)
    step = 1.0 / (1.0 + 0.3275911 * size)
    series = (
        (((1.061405429 * step - 1.453152027) * step + 1.421413741) * step - 0.284496736) * step + 0.254829592
    ) * step
    found: Array = np.sign(values) * (1.0 - series * np.exp(-(size**2)))
    return found


def _softmax(scores: Array) -> Array:
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: Array = shares / shares.sum(axis=-1, keepdims=True)
    return found
