"""Training of the listwise ranker: `python -m tests.training.train_ranker --lists FOLDER --out FILE`.

The loss is that of train_adapter.py over all units that were read, with a learned logit of "nothing answers".
Invariant: on one machine and one version of torch the result is a function of the examples, the seed and the epochs.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphtide.infra.models.local.listwise.network import TRAINED_WITH, ListNetwork, read_weights
from tests.training.corpus import CorpusPart
from tests.training.list_model import ListModel, list_batch
from tests.training.lists import ListExample, read_lists
from tests.training.train_adapter import rate_share

Tensor = Any
"""A tensor of torch, which is not installed where types are checked."""
QUESTIONS, DROPOUT = 16, 0.3
"""Questions of a step, and the share of states that is left out."""
RATE, WEIGHT_DECAY, MAX_NORM = 2e-3, 0.2, 1.0
TOLERANCE = 1e-2
_EXCLUDED = -1e9


def list_losses(model: ListModel, examples: Sequence[ListExample]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of each example, the logits of its units, and that of "nothing answers"."""
    batch = list_batch(examples)
    logits, none = model(batch)
    wrong = logits.masked_fill(batch.positive | batch.neutral, _EXCLUDED)
    others = torch.logsumexp(torch.cat([wrong, none[:, None]], 1), 1)
    each = (torch.logaddexp(others[:, None], logits) - logits).masked_fill(~batch.positive, 0.0)
    answered = each.sum(1) / batch.positive.sum(1).clamp(min=1)
    return torch.where(batch.positive.any(1), answered, others - none), logits, none


def train_ranker(examples: Sequence[ListExample], epochs: int, seed: int) -> ListModel:
    """Return a ranker after some epochs, and print the mean loss of each."""
    if len(examples) < QUESTIONS:
        raise SystemExit(f"{len(examples)} questions to train on, and a step has {QUESTIONS}: record all worlds")
    torch.manual_seed(seed)
    rng, model = random.Random(seed), ListModel(examples, DROPOUT)
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=WEIGHT_DECAY)
    steps, step = epochs * (len(examples) // QUESTIONS), 0
    for epoch in range(1, epochs + 1):
        order, losses = rng.sample(examples, len(examples)), []
        for start in range(0, len(order) - QUESTIONS + 1, QUESTIONS):
            step += 1
            for group in optimiser.param_groups:
                group["lr"] = RATE * rate_share(step / steps)
            loss = list_losses(model, order[start : start + QUESTIONS])[0].mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
            optimiser.step()
            losses.append(float(loss.detach()))
        print(f"epoch {epoch} of {epochs}: loss {np.mean(losses):.3f}", flush=True)
    model.eval()
    return model


def evaluate(model: ListModel, weights: Path, examples: Sequence[ListExample]) -> str:
    """Return how often the first unit is right, by the cross-encoder and by the ranker as the service computes it. Only
    questions with an answer count. Raises SystemExit if the service's logits are not those of the model.
    """
    network = ListNetwork({name: each for name, each in read_weights(weights).items() if name != TRAINED_WITH})
    by_encoder = by_ranker = 0
    answerable = [example for example in examples if len(example.positives)]
    for example in answerable:
        found = network.logits(example.features, example.logits, example.states)
        with torch.no_grad():
            _, logits, none = list_losses(model, [example])
        if not np.allclose([*found.units, found.none], [*logits[0].tolist(), float(none)], atol=TOLERANCE):
            raise SystemExit("the service's network has other logits than the model; compare network.py, list_model.py")
        by_encoder += int(example.logits.argmax()) in example.positives
        by_ranker += int(found.units.argmax()) in example.positives
    return f"the first unit is right: cross-encoder {by_encoder}, ranker {by_ranker} of {len(answerable)} questions"


def lists_in(folder: Path) -> list[ListExample]:
    """Return the examples of all worlds in a folder."""
    return [example for path in sorted(folder.glob("*.npz")) for example in read_lists(path)]


def main() -> None:
    """Train a ranker and write its weights."""
    parser = argparse.ArgumentParser(description="Train the listwise ranker.")
    parser.add_argument("--epochs", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1, help="seed of first weights and samples (default 1)")
    parser.add_argument("--lists", type=Path, required=True, help="folder that tests.training.lists wrote")
    parser.add_argument("--adapter", type=Path, required=True, help="adapter with which the lists were recorded (.npz)")
    parser.add_argument("--out", type=Path, required=True, help="file to write the weights to (.npz)")
    chosen = parser.parse_args()
    trained, held_out = (lists_in(chosen.lists / part) for part in (CorpusPart.RANKER, CorpusPart.HELD_OUT))
    print(f"seed {chosen.seed}: {len(trained)} questions, {len(held_out)} held out", flush=True)
    model = train_ranker(trained, chosen.epochs, chosen.seed)
    model.save(chosen.out, chosen.adapter)
    print(f"wrote {chosen.out}; of the worlds held out, {evaluate(model, chosen.out, held_out)}")


if __name__ == "__main__":
    main()
