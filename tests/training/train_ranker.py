"""Training of the listwise ranker: `python -m tests.training.train_ranker --lists FOLDER --out FILE`.

The loss is that of train_adapter.py over all units that were read, with a learned logit of "nothing answers"; the cross
entropy of each unit as a part of the answer; and the logarithm of the share of the units that lead there, which
teaches the network to see them. The share of questions that nothing answers is what the network takes for the
probability of "nothing": of worlds of manuals, which have more of them than readers ask, an epoch has a part only.
The parts of their answers do not count, as few have several: the network would leave out items of lists.
Invariant: on one machine and one version of torch the result is a function of the examples, the seed and the epochs.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from graphtide.infra.models.local.listwise.network import ensemble_of, read_weights
from tests.training.corpus import RANKED, CorpusPart
from tests.training.list_model import ListBatch, ListModel, ListTensors, list_batch, save_weights
from tests.training.lists import ListExample, read_lists
from tests.training.train_adapter import rate_share

Tensor = Any
"""A tensor of torch, which is not installed where types are checked."""
QUESTIONS, DROPOUT = 16, 0.3
"""Questions of a step, and the share of states that is left out."""
EPOCHS, MEMBERS = 14, 3
"""Epochs of a network, and networks, with a seed of their own each."""
RATE, WEIGHT_DECAY, MAX_NORM = 2e-3, 0.2, 1.0
LEAD_SHARE = 0.3
"""Weight in the loss of what leads to an answer."""
MANUALS_UNANSWERED = 0.15
"""Questions that nothing answers, for each other one of a world of manuals, in an epoch."""
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
    return (best + batch.part_weights * parts + LEAD_SHARE * leads).mean()


Worlds = Mapping[CorpusPart, Sequence[Sequence[ListExample]]]
"""The examples of each world of each part."""


def shown(worlds: Worlds, rng: random.Random) -> list[ListExample]:
    """Return the examples of an epoch in a random order."""
    notes = [each for part, each in worlds.items() if part is not CorpusPart.MANUALS]
    found = [example for each in notes for world in each for example in world]
    for world in worlds.get(CorpusPart.MANUALS, ()):
        answerable = [example for example in world if len(example.positives)]
        others = [example for example in world if not len(example.positives)]
        maximum = round(MANUALS_UNANSWERED * len(answerable))
        chosen = [*answerable, *rng.sample(others, min(len(others), maximum))]
        found += [replace(example, part_weight=0.0) for example in chosen]
    rng.shuffle(found)
    return found


def train_ranker(worlds: Worlds, epochs: int, seed: int) -> ListModel:
    """Return a ranker after some epochs over the examples of worlds, and print the mean loss of each."""
    examples = [example for each in worlds.values() for world in each for example in world]
    if len(examples) < QUESTIONS:
        raise SystemExit(f"{len(examples)} questions to train on, and a step has {QUESTIONS}: record all worlds")
    torch.set_num_threads(1)  # the matrices are small: two threads that wait for each other take ten times as long
    torch.manual_seed(seed)
    rng, model = random.Random(seed), ListModel(examples, DROPOUT)
    parameters = [each for each in model.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=RATE, weight_decay=WEIGHT_DECAY)
    steps, step = epochs * (len(shown(worlds, random.Random(seed))) // QUESTIONS), 0
    for epoch in range(1, epochs + 1):
        order, losses = shown(worlds, rng), []
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


def train_members(worlds: Worlds, epochs: int, seed: int) -> list[ListModel]:
    """Return MEMBERS rankers with the seeds from `seed` on. Cost: two minutes for each on one core."""
    return [train_ranker(worlds, epochs, seed + number) for number in range(MEMBERS)]


def evaluate(models: Sequence[ListModel], weights: Path, examples: Sequence[ListExample]) -> str:
    """Return how often the first unit is right, by the cross-encoder and by the rankers as the service computes them.
    Only questions with an answer count. Raises SystemExit if the service's logits are not the means of the models'.
    """
    network = ensemble_of(read_weights(weights))
    by_encoder = by_ranker = 0
    answerable = [example for example in examples if len(example.positives)]
    for example in answerable:
        found = network.logits(example.features, example.logits, example.states)
        with torch.no_grad():
            logits = [model(list_batch([example])) for model in models]
        rows = [[*each.answers[0].tolist(), *each.parts[0].tolist(), float(each.none)] for each in logits]
        expected = np.mean(rows, axis=0)
        if not np.allclose([*found.units, *found.parts, found.none], expected, atol=TOLERANCE):
            raise SystemExit("the service's network has other logits than the model; compare network.py, list_model.py")
        by_encoder += int(example.logits.argmax()) in example.positives
        by_ranker += int(found.units.argmax()) in example.positives
    return f"the first unit is right: cross-encoder {by_encoder}, ranker {by_ranker} of {len(answerable)} questions"


def lists_in(folder: Path) -> list[list[ListExample]]:
    """Return the examples of each world in a folder."""
    return [read_lists(path) for path in sorted(folder.glob("*.npz"))]


def main() -> None:
    """Train a ranker and write its weights."""
    parser = argparse.ArgumentParser(description="Train the listwise ranker.")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the first network; the next ones follow (default 1)"
    )
    parser.add_argument("--lists", type=Path, required=True, help="folder that tests.training.lists wrote")
    parser.add_argument("--adapter", type=Path, required=True, help="adapter with which the lists were recorded (.npz)")
    parser.add_argument("--out", type=Path, required=True, help="file to write the weights to (.npz)")
    chosen = parser.parse_args()
    trained = {part: lists_in(chosen.lists / part) for part in RANKED}
    questions = sum(len(world) for each in trained.values() for world in each)
    held_out = [example for world in lists_in(chosen.lists / CorpusPart.HELD_OUT) for example in world]
    print(f"seed {chosen.seed}: {questions} questions, {len(held_out)} held out", flush=True)
    models = train_members(trained, chosen.epochs, chosen.seed)
    save_weights(models, chosen.out, chosen.adapter)
    print(f"wrote {chosen.out}; of the worlds held out, {evaluate(models, chosen.out, held_out)}")


if __name__ == "__main__":
    main()
