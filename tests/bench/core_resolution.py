"""Measures entity resolution: the accuracy on pairs labelled by hand, and the cost of a label.

    python -m tests.bench.core_resolution

`entity_pairs.jsonl` holds names from the MuSiQue passages that were read and labelled one by one, with hard cases
chosen on purpose and before the rule was written; a hash splits them into pairs to tune on and pairs held out. The held
half is not blind: its totals were seen while the rule was tuned, and links over the whole corpus were read. A pair
counts as judged the same when it is a candidate, proposed, and no cannot-link rule forbids it; a cluster may still
refuse it.

The data is read from the folder GRAPHTIDE_BENCH_DATA (a `musique` folder, an `embedder` folder beside or in it) or from
../shared/bench; without it the script reports this and stops.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.resolution import LabelView, Resolver, normalise
from graphtide.graph.resolution.blocking import lexical_keys, roles_compatible, vector_keys
from graphtide.graph.resolution.pair_scoring import (
    Proposal,
    ResolvableLabel,
    assess_pair,
    rounded_mean,
    score_pair,
    signature_of,
)
from graphtide.graph.resolution.synonyms.scoring import assess_synonym
from graphtide.infra.models.local.static_embedder import StaticEmbedder

_PAIRS = Path(__file__).with_name("entity_pairs.jsonl")
_ROOT = Path(__file__).resolve().parents[2]
_BATCH = 10  # labels in a document, about


@dataclass(frozen=True, slots=True)
class Data:
    """Locations of the passages and of the embedder's vectors."""

    corpus: Path
    embedder: Path


@dataclass(frozen=True, slots=True)
class PairReport:
    """Accuracy on a set of pairs. `blocked` is the share of true pairs that are candidates."""

    pairs: int
    positive: int
    precision: float
    recall: float
    blocked: float
    wrong: tuple[tuple[str, str, bool], ...]


def find_data() -> Data | None:
    """Return the benchmark data, or None."""
    named = os.environ.get("GRAPHTIDE_BENCH_DATA")
    bench = Path(named) if named else _ROOT.parent / "shared" / "bench"
    for embedder in (bench / "embedder", bench.parent / "embedder"):
        if (bench / "musique" / "corpus.jsonl").exists() and (embedder / "vectors.npy").exists():
            return Data(bench / "musique" / "corpus.jsonl", embedder)
    return None


def load_vectors(data: Data) -> dict[str, NDArray[np.float32]]:
    """Return unit vectors by text."""
    texts = json.loads(gzip.decompress((data.embedder / "texts.json.gz").read_bytes()))
    vectors = np.load(data.embedder / "vectors.npy").astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return dict(zip(texts, vectors, strict=True))


def load_names(data: Data) -> list[str]:
    """Return one name for each label of the passages' entities and the ends of their triples, in a canonical order."""
    by_label: dict[str, str] = {}
    for line in data.corpus.read_text().splitlines():
        row = json.loads(line)
        for name in [*row["entities"], *(end for triple in row["triples"] for end in (triple[0], triple[2]))]:
            if label := normalise(name):
                by_label[label] = min(name, by_label.get(label, name))
    return [by_label[label] for label in sorted(by_label)]


def static_vectors() -> dict[str, NDArray[np.float32]]:
    """Return the vectors of the default model by the name in the labelled pairs."""
    rows = [json.loads(line) for line in _PAIRS.read_text().splitlines()]
    return _static(sorted({row[side] for row in rows for side in ("a", "b")}))


def _static(names: list[str]) -> dict[str, NDArray[np.float32]]:
    return dict(zip(names, asyncio.run(StaticEmbedder().embed(names)), strict=True))


def measure_pairs(vectors: Mapping[str, NDArray[np.float32]]) -> dict[str, PairReport]:
    """Return precision, recall and blocking recall on each half of the labelled pairs, and on all."""
    judged: dict[str, list[tuple[str, str, bool, bool, bool]]] = {"tune": [], "held": []}
    for line in _PAIRS.read_text().splitlines():
        row = json.loads(line)
        a, b = (LabelView(normalise(row[side]), "", vectors[row[side]]) for side in ("a", "b"))
        near = a.key == b.key or _are_candidates(a, b)
        same = a.key == b.key or (near and isinstance(score_pair(a, b, {}), Proposal))
        judged[half_of(row["a"], row["b"])].append((row["a"], row["b"], row["same"], same, near))
    judged["all"] = judged["tune"] + judged["held"]
    return {half: _report(rows) for half, rows in judged.items()}


def half_of(a: str, b: str) -> str:
    """Return the half that a pair belongs to, by a hash of the pair."""
    return ("tune", "held")[hashlib.sha256("|".join(sorted((a, b))).encode()).digest()[0] & 1]


def _report(rows: list[tuple[str, str, bool, bool, bool]]) -> PairReport:
    positive = sum(truth for _, _, truth, _, _ in rows)
    proposed = sum(same for _, _, _, same, _ in rows)
    right = sum(truth and same for _, _, truth, same, _ in rows)
    found = sum(truth and near for _, _, truth, _, near in rows)
    wrong = tuple((a, b, truth) for a, b, truth, same, _ in rows if truth != same)
    return PairReport(len(rows), positive, right / max(proposed, 1), right / positive, found / positive, wrong)


def _are_candidates(a: ResolvableLabel, b: ResolvableLabel) -> bool:
    words = [(signature_of(label), rounded_mean(label)) for label in (a, b)]
    one, other = (lexical_keys(of) | vector_keys(of, vector) for of, vector in words)
    return any(roles_compatible(one[key], other[key]) for key in one.keys() & other.keys())


def measure_cost(names: list[str], vectors: dict[str, NDArray[np.float32]]) -> Iterable[str]:
    """Measure the CPU time of an update by the number of labels: new labels, ten at a time, then changed vectors."""
    order = list(enumerate(names))
    random.Random(1).shuffle(order)
    views = {i: LabelView(normalise(name), "", vectors[name]) for i, name in order}
    resolver, spent, inserted = Resolver(), list[float](), 0
    for start in range(0, len(order), _BATCH):
        batch = {i: views[i] for i, _ in order[start : start + _BATCH]}
        began = time.process_time()
        resolver.update(batch)
        spent.append((time.process_time() - began) / len(batch) * 1e6)
        inserted += len(batch)
        if inserted in (2_000, 5_000, 12_000) or inserted == len(order):
            recent = spent[-100:]
            yield _cost_line(f"new label, at {inserted:>6,} labels", recent)
            yield _cost_line(
                f"  vector changed, at {inserted:>6,}", list(_changes(resolver, [i for i, _ in order[:500]], views))
            )
    clusters = {resolver.cluster_of(i) for i in views}
    sizes = sorted(len(c) for c in clusters if len(c) > 1)
    yield f"{len(views):,} labels, {len(clusters):,} entities, {len(sizes)} of several labels, at most {sizes[-1]}"
    yield f"{len(resolver.borderline())} borderline pairs for a judge"


def measure_synonyms(names: list[str], vectors: dict[str, NDArray[np.float32]]) -> Iterable[str]:
    """Measure semantic blocking: questions and CPU time for each name, and the share of similar pairs found."""
    views = {i: LabelView(normalise(name), "", vectors[name]) for i, name in enumerate(names)}
    for resolver in (Resolver(), Resolver(synonyms=True)):
        began = time.process_time()
        for start in range(0, len(views), _BATCH):
            resolver.update({i: views[i] for i in range(start, min(start + _BATCH, len(views)))})
        spent = (time.process_time() - began) / len(views) * 1e6
        yield f"{len(views):,} names: {spent:.0f} us, {len(resolver.unchecked()) / len(views):.2f} questions for each"
    matrix = np.stack([vectors[name] for name in names])
    found, draw = set(resolver.unchecked()), random.Random(1)
    for floor in (0.6, 0.7, 0.8):
        similar = [
            (start + int(i), int(j))
            for start in range(0, len(names), 1000)
            for i, j in np.argwhere(matrix[start : start + 1000] @ matrix.T >= floor)
            if start + i < j
        ]
        some = draw.sample(similar, min(2000, len(similar)))
        worth = [
            (a, b) for a, b in some if assess_synonym(views[a], views[b]) and assess_pair(views[a], views[b]) is None
        ]
        share = sum(pair in found for pair in worth) / max(1, len(worth))
        yield f"pairs worth a question, cosine {floor} and more: {share:.2f} found"


def _changes(resolver: Resolver, labels: list[int], views: dict[int, LabelView]) -> Iterable[float]:
    for label in labels:
        vector = views[label].vector
        assert vector is not None
        moved = vector + 0.02 * np.roll(vector, 1)
        view = LabelView(views[label].name, "", (moved / np.linalg.norm(moved)).astype(np.float32))
        began = time.process_time()
        resolver.update({label: view})
        yield (time.process_time() - began) * 1e6
        resolver.update({label: views[label]})


def _cost_line(what: str, spent: list[float]) -> str:
    mean, median, p99 = statistics.fmean(spent), statistics.median(spent), sorted(spent)[int(len(spent) * 0.99)]
    return f"{what:<34} mean {mean:6.1f} us   median {median:6.1f} us   p99 {p99:7.1f} us"


def main() -> int:
    """Print both tables."""
    data = find_data()
    if data is None:
        print("no benchmark data: set GRAPHTIDE_BENCH_DATA, or keep it in ../shared/bench")
        return 1
    reports = [("MiniLM", measure_pairs(load_vectors(data))), ("static", measure_pairs(static_vectors()))]
    for model, half, report in ((model, half, report) for model, halves in reports for half, report in halves.items()):
        print(
            f"{model} {half:<5} {report.pairs} pairs, {report.positive} the same: precision {report.precision:.3f}, "
            f"recall {report.recall:.3f}, of true pairs candidates {report.blocked:.3f}"
        )
    for line in measure_cost(load_names(data), load_vectors(data)):
        print(line)
    names = random.Random(1).sample(load_names(data), 8_000)
    for model, vectors in (("MiniLM", load_vectors(data)), ("static", _static(names))):
        for line in measure_synonyms(names, vectors):
            print(f"{model}: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
