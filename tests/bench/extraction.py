"""Measures extraction without a language model: `make bench-extraction`, or

    python -m tests.bench.extraction [--questions 100] [--sets 2wiki-dev] [--quick]

Measured are the share of facts held in essays, the share of questions over notes that the statements answer, the recall
of multi-hop retrieval on the graph, and CPU milliseconds of an essay. `--quick` leaves out the retrieval, which takes
minutes. It asserts nothing.

The data is read from GRAPHTIDE_BENCH_DATA or ../shared/bench (`extraction`, `notes`, `multihop`).
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator

from graphtide.infra.models.local.extractor import OfflineExtractor, ParsingExtractor
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.streams.model_ports import Extractor
from tests.bench.extraction_facts import FactScore, essays, score
from tests.bench.extraction_notes import measure_notes
from tests.bench.extraction_retrieval import DEPTHS, SETS, measure
from tests.support.bench_data import bench_data

_SHOWN_TYPES = 6


def main() -> None:
    """Print one line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=100, help="questions of each multi-hop set")
    parser.add_argument("--sets", nargs="*", default=["2wiki-dev"], choices=SETS, help="multi-hop sets")
    parser.add_argument("--quick", action="store_true", help="no retrieval")
    chosen = parser.parse_args()
    if not (bench_data() / "extraction").exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds extraction/.")
    for name, extractor in {"rules": OfflineExtractor(), "parser": ParsingExtractor()}.items():
        for line in _figures(extractor, () if chosen.quick else chosen.sets, chosen.questions):
            print(f"| {name} | {line} |", flush=True)


def _figures(extractor: Extractor, sets: list[str] | tuple[str, ...], questions: int) -> Iterator[str]:
    texts = essays()
    facts, relations, spent = FactScore(), 0, 0.0
    asyncio.run(extractor.extract(texts[0].text, title=texts[0].topic))  # loads what is loaded once
    for essay in texts:
        began = time.process_time()
        found = asyncio.run(extractor.extract(essay.text, title=essay.topic))
        spent += time.process_time() - began
        facts += score(found, essay.facts)
        relations += len(found.relations)
    yield f"facts held, % | {100 * facts.found / facts.facts:.1f}"
    yield f"key words of facts found, % | {100 * facts.covered / facts.facts:.1f}"
    yield f"relations an essay | {relations / len(texts):.1f}"
    size = sum(len(one.text) for one in texts) // len(texts)
    yield f"CPU ms an essay of {size:,} characters | {1000 * spent / len(texts):.1f}"
    notes = measure_notes(extractor)
    yield f"questions over notes answered by statements | {notes.answered} of {notes.questions}"
    yield "types of entities in notes | " + ", ".join(
        f"{n} {kind}" for kind, n in list(notes.types.items())[:_SHOWN_TYPES]
    )
    for name in sets:
        found_recall = measure(name, questions, extractor, StaticEmbedder())
        recalls = ", ".join(f"R@{k} {value:.3f}" for k, value in zip(DEPTHS, found_recall.recalls, strict=True))
        yield f"{name}, {found_recall.questions} questions | {recalls}"
        yield f"{name}, graph work, CPU ms a document | {found_recall.graph_ms:.1f}"


if __name__ == "__main__":
    main()
