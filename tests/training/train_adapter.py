"""Training of the cross-encoder's adapter: `python -m tests.training.train_adapter --examples FOLDER --out FILE`.

The loss is listwise, with a zero as the logit of "none", as the service reads the logits. For a question with logits
s, units P that answer it and other units N,

    L = mean over p in P of log(1 + exp(-s_p) (1 + sum over n in N of exp(s_n))),    if P is not empty,
    L = log(1 + sum over n in N of exp(s_n)),                                         if nothing answers:

the negative logarithm of the share of each unit that answers, without the others of P, or of the share of "none". N is
a sample: units that the rules rank first, neighbours of P, and any others. Invariant: on one machine and one version
of torch the result is a function of the examples, the seed, the minutes and the first adapter.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphtide.infra.models.local.answers.relevance import SHORTLIST
from graphtide.infra.models.local.cross_encoder.pairs import PairTokenizer, TokenPair, batch_of, by_length
from tests.training.adapter import AdapterModel, Tensor, read_adapter
from tests.training.corpus import CorpusPart
from tests.training.examples import TrainingExample, read_examples

STEPS_PER_MINUTE = 55
"""Steps of two cores, each of QUESTIONS questions: a clock would make the result depend on the machine's load."""
QUESTIONS, POSITIVES, NEGATIVES = 8, 3, 10
"""Questions of a step, and units of a question that are read at most."""
HARD, HARD_SHARE, NEIGHBOURS = 24, 2 / 3, 2
"""Choice of negatives: a share of them among the HARD units with the best scores, and NEIGHBOURS beside an answer."""
RATE, WARM_UP, MIN_RATE_SHARE = 1e-3, 1 / 15, 0.02
"""The learning rate rises for a part of the training, then falls linearly to a share of itself."""
WEIGHT_DECAY, BETAS, MAX_NORM = 0.01, (0.9, 0.98), 1.0
PORTIONS, REPORT_STEPS = 3, 50


class Training:
    """Model, tokenizer and optimiser (AdamW, Loshchilov and Hutter 2019) of a training."""

    def __init__(self, model: AdapterModel, rng: random.Random, rate: float) -> None:
        self._model, self._rng, self._rate = model, rng, rate
        self._tokenizer = PairTokenizer()
        self._parameters = list(model.parameters.values())
        groups: list[dict[str, Any]] = [
            {"params": [each for each in self._parameters if each.dim() > 1], "weight_decay": WEIGHT_DECAY},
            {"params": [each for each in self._parameters if each.dim() <= 1], "weight_decay": 0.0},
        ]
        self._optimiser = torch.optim.AdamW(groups, lr=rate, betas=BETAS)

    def step(self, examples: Sequence[TrainingExample], progress: float) -> float:
        """Change the adapter by the gradient over some questions; return their loss. `progress` is from 0 to 1."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * rate_share(progress)
        loss = self._loss(examples)
        self._optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._parameters, MAX_NORM)
        self._optimiser.step()
        return float(loss.detach())

    def _loss(self, examples: Sequence[TrainingExample]) -> Tensor:
        samples = [sample(example, self._rng) for example in examples]
        pairs = [
            self._tokenizer.pair(example.question, example.units[place])
            for example, (positives, negatives) in zip(examples, samples, strict=True)
            for place in (*positives, *negatives)
        ]
        logits, start, losses = self._logits(pairs), 0, []
        for positives, negatives in samples:
            middle = start + len(positives)
            losses.append(listwise_loss(logits[start:middle], logits[middle : middle + len(negatives)]))
            start = middle + len(negatives)
        return torch.stack(losses).mean()

    def _logits(self, pairs: Sequence[TokenPair]) -> Tensor:
        """Return the logits of pairs in their order, computed in portions of about one length."""
        order = by_length(pairs)
        size = -(-len(order) // PORTIONS)
        portions = [order[start : start + size] for start in range(0, len(order), size)]
        found = torch.cat([self._model.logits(batch_of([pairs[place] for place in each])) for each in portions])
        return found[torch.tensor(np.argsort(order))]


def rate_share(progress: float) -> float:
    """Return the share of the greatest learning rate after a part of the training."""
    return min(1.0, progress / WARM_UP) * max(MIN_RATE_SHARE, 1 - progress)


def listwise_loss(positives: Tensor, negatives: Tensor) -> Tensor:
    """Return the loss of a question from the logits of its units; see the module."""
    others = torch.logsumexp(torch.cat([negatives, torch.zeros(1)]), 0)
    if not len(positives):
        return others
    return (torch.logaddexp(others, positives) - positives).mean()


def sample(example: TrainingExample, rng: random.Random) -> tuple[list[int], list[int]]:
    """Return the places of units that answer, and of others, which are read in one step."""
    positives = example.labels.positives
    known = example.labels.neutral.union(positives)
    others = [place for place in example.by_score if place not in known]
    hard = others[:HARD]
    chosen = rng.sample(hard, min(len(hard), int(NEGATIVES * HARD_SHARE)))
    beside = {place + step for place in positives for step in (-1, 1)}
    near = sorted(beside & set(others) - set(chosen))
    chosen += rng.sample(near, min(len(near), NEIGHBOURS))
    rest = [place for place in others if place not in chosen]
    chosen += rng.sample(rest, min(len(rest), NEGATIVES - len(chosen)))
    return rng.sample(positives, min(len(positives), POSITIVES)), chosen


def portions_of(examples: Sequence[TrainingExample], rng: random.Random) -> Iterator[list[TrainingExample]]:
    """Yield the examples of a step, without end: all in a random order, then all in another one."""
    if len(examples) < QUESTIONS:
        raise SystemExit(f"{len(examples)} questions to train on, and a step has {QUESTIONS}: record all worlds")
    while True:
        order = rng.sample(examples, len(examples))
        for start in range(0, len(order) - QUESTIONS + 1, QUESTIONS):
            yield order[start : start + QUESTIONS]


def train(training: Training, examples: Sequence[TrainingExample], steps: int, rng: random.Random) -> None:
    """Train the adapter, and print the mean loss every REPORT_STEPS steps."""
    begun, losses = time.monotonic(), []
    for step, portion in enumerate(islice(portions_of(examples, rng), steps), 1):
        losses.append(training.step(portion, step / steps))
        if step % REPORT_STEPS == 0 or step == steps:
            mean, passed_s = np.mean(losses[-REPORT_STEPS:]), time.monotonic() - begun
            print(f"step {step} of {steps}: loss {mean:.3f}, {passed_s:.0f} s", flush=True)


def evaluate(model: AdapterModel, examples: Sequence[TrainingExample]) -> str:
    """Return how often the first unit is right, by the rules and by the model. Only questions with an answer count; the
    model orders the SHORTLIST best units by the rules.
    """
    answerable, tokenizer = [example for example in examples if example.labels.positives], PairTokenizer()
    by_rules = by_model = 0
    for example in answerable:
        places, positives = example.by_score[:SHORTLIST], example.labels.positives
        logits, _ = model.read([tokenizer.pair(example.question, example.units[place]) for place in places])
        by_rules += places[0] in positives
        by_model += places[int(np.argmax(logits))] in positives
    return f"the first unit is right: rules {by_rules}, cross-encoder {by_model} of {len(answerable)} questions"


def usable_examples(folder: Path) -> list[TrainingExample]:
    """Return the usable examples of the worlds in a folder."""
    examples = (example for path in sorted(folder.glob("*.json")) for example in read_examples(path))
    return [example for example in examples if example.labels.usable]


def main() -> None:
    """Train an adapter and write it."""
    parser = argparse.ArgumentParser(description="Train the adapter of the cross-encoder.")
    parser.add_argument("--minutes", type=float, default=50, help="length of the training on two cores (default 50)")
    parser.add_argument("--rate", type=float, default=RATE, help=f"greatest learning rate (default {RATE})")
    parser.add_argument("--seed", type=int, default=1, help="seed of first weights and samples (default 1)")
    parser.add_argument("--examples", type=Path, required=True, help="folder that tests.training.examples wrote")
    parser.add_argument("--init", type=Path, help="adapter to continue with, instead of one without training")
    parser.add_argument("--out", type=Path, required=True, help="file to write the adapter to (.npz)")
    asked = parser.parse_args()
    torch.manual_seed(asked.seed)
    trained, held_out = (usable_examples(asked.examples / part) for part in (CorpusPart.ADAPTER, CorpusPart.HELD_OUT))
    print(f"seed {asked.seed}: {len(trained)} questions, {len(held_out)} held out", flush=True)
    model = AdapterModel(read_adapter(asked.init) if asked.init else None)
    rng = random.Random(asked.seed)
    train(Training(model, rng, asked.rate), trained, max(1, round(asked.minutes * STEPS_PER_MINUTE)), rng)
    model.save(asked.out)
    print(f"wrote {asked.out}; of the worlds held out, {evaluate(model, held_out)}")


if __name__ == "__main__":
    main()
