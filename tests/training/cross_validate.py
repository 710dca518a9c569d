"""Measures the choice of answers over collections that no model has seen, and writes the table of docs/answers.md.

    python -m tests.training.cross_validate FOLDER [--folds N] [--no-page]

The worlds of the parts RANKER and MANUALS, which the adapter was not trained on, are divided into folds. The ranker of
a fold is trained on the worlds of the others, as the service's own is on all; then the questions of the fold's worlds
are answered with it, and judged by the places that they name. FOLDER keeps what the cross-encoder reads, by the name of
the world, so that a run continues where another one ended; delete it when the adapter, the rules or the ranker's
features change. It asserts nothing. Cost: half an hour on two cores for the readings, and three quarters of an hour on
one for the rest. Needs torch.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from graphtide.infra.models.local.answers import relevance
from graphtide.infra.models.local.answers.choosing.selection import RuleAnswer, answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.cross_encoder.weights import ADAPTER
from graphtide.infra.models.local.listwise.network import ListEnsemble, ensemble_of, read_weights
from graphtide.infra.models.local.unit_reader import probabilities
from tests.support.bench_data import ROOT
from tests.support.marked_page import write_part
from tests.training.contexts import AskedQuestion, asked_worlds
from tests.training.corpus import RANKED, CorpusPart, World, read_worlds
from tests.training.judgement import Judgement, judged, shares
from tests.training.lists import ListExample, ListRecorder, read_lists

SEED = 1
MIN_QUESTIONS = 100
"""Questions of a kind that has a row."""
PAGE, BEGIN, END = ROOT / "docs" / "answers.md", "<!-- cross-validation:begin -->", "<!-- cross-validation:end -->"

Policy = Callable[[AnswerEvidence, Relevance, RuleAnswer], Sequence[object]]


def by_rules_alone(_evidence: AnswerEvidence, _relevance: Relevance, by_rules: RuleAnswer) -> Sequence[object]:
    """Return what the rules choose."""
    return by_rules.chosen


def most_probable(evidence: AnswerEvidence, found: Relevance, _by_rules: RuleAnswer) -> Sequence[object]:
    """Return the unit of the greatest probability, whatever that of none is."""
    place = relevance.most_probable(found)
    return () if place is None else (evidence.scored[place],)


def with_limits(unanswered: float, by_rules: float) -> Policy:
    """Return the service's choice with other limits for "nothing answers"."""

    def choose(evidence: AnswerEvidence, found: Relevance, rules: RuleAnswer) -> Sequence[object]:
        with patch.multiple(relevance, UNANSWERED=unanswered, UNANSWERED_BY_RULES=by_rules, UNANSWERED_PARTLY=by_rules):
            return answer_by_relevance(evidence, found, rules)

    return choose


SERVICE = "the service"
POLICIES: Mapping[str, Policy] = {
    "the rules alone": by_rules_alone,
    SERVICE: answer_by_relevance,
    'the service with limits for "nothing" of 0.5 and 0.35': with_limits(0.5, 0.35),
    'the service with limits for "nothing" of 0.3 and 0.1': with_limits(0.3, 0.1),
    "the unit of the greatest probability alone, nothing refused": most_probable,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The judgement of a policy's answer to a question of a kind over a world of a part."""

    policy: str
    kind: str
    judgement: Judgement
    part: CorpusPart = CorpusPart.RANKER


def folds_of(worlds: Sequence[World], count: int) -> list[list[World]]:
    """Return the worlds in `count` parts, by turns."""
    return [list(worlds[start::count]) for start in range(count)]


async def record_readings(worlds: Sequence[World], folder: Path) -> None:
    """Record what the cross-encoder reads for the worlds that have no file in `folder` yet."""
    missing = [world for world in worlds if not reading_file(folder, world).exists()]
    await ListRecorder(ADAPTER).record(missing, folder)


def reading_file(folder: Path, world: World) -> Path:
    return folder / f"{world.name}.npz"


def trained_ranker(worlds: Mapping[CorpusPart, Sequence[World]], folder: Path, weights: Path) -> ListEnsemble:
    """Return a ranker that is trained on the readings of the worlds, as the service computes it."""
    from tests.training.list_model import save_weights  # need torch, which tests of this module lack
    from tests.training.train_ranker import EPOCHS, train_members

    examples = {part: [read_lists(reading_file(folder, world)) for world in each] for part, each in worlds.items()}
    save_weights(train_members(examples, EPOCHS, SEED), weights, ADAPTER)
    return ensemble_of(read_weights(weights))


async def outcomes(worlds: Sequence[World], part: CorpusPart, network: ListEnsemble, folder: Path) -> list[Outcome]:
    """Return the outcomes of all policies over the worlds of a part."""
    found: list[Outcome] = []
    async for world, asked in asked_worlds(worlds):
        usable = [question for question in asked if question.labels.usable]
        examples = read_lists(reading_file(folder, world))
        for question, example in zip(usable, examples, strict=True):
            found += [replace(one, part=part) for one in answered(question, example, network)]
    return found


def answered(question: AskedQuestion, example: ListExample, network: ListEnsemble) -> Iterator[Outcome]:
    """Yield the outcome of each policy for a question. Raises SystemExit for a reading of another question."""
    if max(example.places.tolist(), default=-1) >= len(question.units):
        raise SystemExit("a reading belongs to other units than the question's: delete the folder of readings")
    logits = network.logits(example.features, example.logits, example.states)
    evidence = question.evidence()
    found = probabilities(evidence, example.places.tolist(), logits)
    by_rules = answer_by_rules(evidence)
    scores = [scored.score for scored in evidence.scored]
    places = {id(scored): place for place, scored in enumerate(evidence.scored)}
    for name, choose in POLICIES.items():
        chosen = {places[id(scored)] for scored in choose(evidence, found, by_rules)}
        yield Outcome(name, question.labels.kind, judged(question.labels, chosen))
        for scored, score in zip(evidence.scored, scores, strict=True):
            scored.score = score  # a policy may add to it


def table(found: Sequence[Outcome]) -> str:
    """Return the tables of all policies over notes and over manuals, and of the kinds of questions over notes."""
    notes, manuals = ([one for one in found if one.part is part] for part in RANKED)
    parts = [_policies("notes", notes), _policies("manuals", manuals), _kinds(notes)]
    return "\n\n".join(part for part in parts if part)


def _policies(name: str, found: Sequence[Outcome]) -> str:
    if not found:
        return ""
    by_policy: dict[str, list[Judgement]] = defaultdict(list)
    for one in found:
        by_policy[one.policy].append(one.judgement)
    rows = [
        f"| {name} | right or rightly refused, of all | right, of the answerable | false refusals | rightly refused |",
        "| --- | --- | --- | --- | --- |",
    ]
    for policy, judgements in by_policy.items():
        part = shares(judgements)
        figures = (part.right, part.answered, part.false_refusals, part.refusals)
        rows.append(f"| {policy} | {' | '.join(f'{100 * figure:.1f} %' for figure in figures)} |")
    return "\n".join(rows)


def _kinds(found: Sequence[Outcome]) -> str:
    by_kind: dict[tuple[str, str], list[Judgement]] = defaultdict(list)
    for one in found:
        by_kind[one.kind, one.policy].append(one.judgement)
    counts = Counter(one.kind for one in found if one.policy == SERVICE)
    rows = ["| kind of question | questions | the rules alone | the service |", "| --- | --- | --- | --- |"]
    for kind, count in counts.most_common():
        if count >= MIN_QUESTIONS:
            rules, service = (100 * shares(by_kind[kind, name]).right for name in ("the rules alone", SERVICE))
            rows.append(f"| {kind} | {count:,} | {rules:.0f} % | {service:.0f} % |")
    return "\n".join(rows)


async def measure(folder: Path, folds: int) -> list[Outcome]:
    """Return the outcomes over all worlds, each by the ranker of its fold."""
    worlds = {part: read_worlds(part) for part in RANKED}
    await record_readings([world for each in worlds.values() for world in each], folder)
    found: list[Outcome] = []
    for number in range(folds):
        print(f"fold {number + 1} of {folds} …", flush=True)
        asked = {part: folds_of(each, folds)[number] for part, each in worlds.items()}
        names = {world.name for each in asked.values() for world in each}
        others = {part: [world for world in each if world.name not in names] for part, each in worlds.items()}
        network = trained_ranker(others, folder, folder / f"fold-{number + 1}-of-{folds}.weights")
        for part, each in asked.items():
            found += await outcomes(each, part, network, folder)
    return found


def main() -> None:
    """Measure, print the tables, and write them."""
    parser = argparse.ArgumentParser(description="Measure the choice of answers by cross-validation.")
    parser.add_argument("folder", type=Path, help="folder of the readings")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--no-page", action="store_true", help="print the tables, leave docs/answers.md alone")
    chosen = parser.parse_args()
    text = table(asyncio.run(measure(chosen.folder, chosen.folds)))
    print(text)
    if not chosen.no_page:
        write_part(PAGE, BEGIN, END, f"\n{text}\n")


if __name__ == "__main__":
    main()
