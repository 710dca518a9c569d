"""Training of the listwise ranker: `python -m tests.training.train_ranker --lists FOLDER --out FILE`.

The loss is that of train_adapter.py over all units that were read, with a learned logit of "nothing answers"; the cross
entropy of each unit as a part of the answer; and the logarithm of the share of the units that lead there, which
teaches the network to see them.
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
from torch.nn import functional

from graphtide.infra.models.local.listwise.network import TRAINED_WITH, ListNetwork, read_weights
from tests.training.corpus import CorpusPart
from tests.training.list_model import ListBatch, ListModel, ListTensors, list_batch
from tests.training.lists import ListExample, read_lists
from tests.training.train_adapter import rate_share

Tensor = Any
"""A tensor of torch, which is not installed where types are checked."""
QUESTIONS, DROPOUT = 16, 0.3
"""Questions of a step, and the share of states that is left out."""
RATE, WEIGHT_DECAY, MAX_NORM = 2e-3, 0.2, 1.0
PART_SHARE, SINGLE_PART_SHARE, LEAD_SHARE = 0.3, 0.09, 0.3
"""Weights in the loss of the parts of an answer, where it has several and where it has one, and of what leads to it."""
TOLERANCE = 1e-2
_EXCLUDED = -1e9


def list_losses(logits: ListTensors, batch: ListBatch) -> Tensor:
    """Return the mean loss of the examples: of the best answer, of the parts of answers, and of what leads to them."""
    answered = batch.positive.any(1)
    wrong = logits.answers.masked_fill(batch.positive | batch.neutral, _EXCLUDED)
    others = torch.logsumexp(torch.cat([wrong, logits.none[:, None]], 1), 1)
    each = (torch.logaddexp(others[:, None], logits.answers) - logits.answers).masked_fill(~batch.positive, 0.0)
    best = torch.where(answered, each.sum(1) / batch.positive.sum(1).clamp(min=1), others - logits.none)
    of_part = functional.binary_cross_entropy_with_logits(logits.parts, batch.positive.float(), reduction="none")
    parts = of_part.masked_fill(~(batch.exist & answered[:, None]), 0.0).sum(1)
    leading = logits.leads.masked_fill(~batch.exist, _EXCLUDED).log_softmax(1).masked_fill(~batch.neutral, _EXCLUDED)
    leads = torch.where(batch.neutral.any(1), -torch.logsumexp(leading, 1), torch.zeros_like(parts))
    shares = torch.where(batch.joined, PART_SHARE, SINGLE_PART_SHARE)
    return (best + shares * parts + LEAD_SHARE * leads).mean()


def train_ranker(examples: Sequence[ListExample], epochs: int, seed: int) -> ListModel:
    """Return a ranker after some epochs, and print the mean loss of each."""
    if len(examples) < QUESTIONS:
        raise SystemExit(f"{len(examples)} questions to train on, and a step has {QUESTIONS}: record all worlds")
    torch.set_num_threads(1)  # the matrices are small: two threads that wait for each other take ten times as long
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
            batch = list_batch(order[start : start + QUESTIONS])
            loss = list_losses(model(batch), batch)
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
            logits = model(list_batch([example]))
        expected = [*logits.answers[0].tolist(), *logits.parts[0].tolist(), float(logits.none)]
        if not np.allclose([*found.units, *found.parts, found.none], expected, atol=TOLERANCE):
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
