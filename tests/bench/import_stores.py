"""Bench of `graphtide import`: the medical corpus in LightRAG's form, or any store that is named, and its questions.

`python -m tests.bench.import_stores [STORE]` prints what was imported, the time, and the share of questions whose
evidence has most of its words in one of the ten passages that an answer reads. No language model is called.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import graphtide
from graphtide.infra.imports.stores import open_store
from graphtide.services.cli.importing.run import ImportOptions, ImportResult, import_store
from graphtide.services.sdk.blocking import Graph
from tests.support.bench_data import STOP_WORDS, bench_data
from tests.support.foreign_stores import Described, Fact, write_lightrag
from tests.support.syncing import EmbeddedClient

QUESTIONS = 100
_SHARE = 0.6


def medical() -> Described:
    """Return the corpus as LightRAG extracted it with gpt-4o-mini."""
    folder = bench_data() / "medical"
    chunks = [json.loads(line) for line in (folder / "chunks.jsonl").read_text().splitlines()]
    numbers = {chunk["chunk_id"]: number for number, chunk in enumerate(chunks)}
    entities, relations = (json.loads((folder / f"{name}.json").read_text()) for name in ("entities", "relations"))
    return Described(
        [chunk["text"] for chunk in chunks],
        [Fact(e["name"], "", e["descriptions"], [numbers[c] for c in e["chunks"]], e["type"]) for e in entities],
        [
            Fact(
                r["source"],
                r["target"],
                r["descriptions"],
                [numbers[c] for c in r["chunks"]],
                r["keywords"],
                r["weight"],
            )
            for r in relations
        ],
        [chunk["chunk_id"] for chunk in chunks],
    )


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["XDG_STATE_HOME"] = scratch
        store = Path(arguments[0]) if arguments else write_lightrag(Path(scratch) / "store", medical())
        with graphtide.sync.open(Path(scratch) / "data", extractor=_refuse) as database:
            client, done, began = EmbeddedClient(database), ImportResult(), time.monotonic()
            import_store(client, open_store(store), ImportOptions(store, "g"), lambda *_: lambda _count: None, done)
            print(f"{json.dumps(done.as_json())}\nimported in {time.monotonic() - began:.1f} s")
            graph = database.graph("g")
            print(f"graph: {dict(graph.stats().counts)}; digest {graph.digest().digest[:16]}")
            client.published.clear()
            again = ImportResult()
            import_store(client, open_store(store), ImportOptions(store, "g"), lambda *_: lambda _count: None, again)
            print(f"again: {again.unchanged} unchanged, {len(client.published)} published")
            if not arguments:
                _ask_all(graph)


def _ask_all(graph: Graph) -> None:
    questions = json.loads((bench_data() / "medical" / "medical_questions.json").read_text())
    chosen = questions[:: max(1, len(questions) // QUESTIONS)][:QUESTIONS]
    began = time.monotonic()
    found = sum(_finds(graph, each) for each in chosen)
    print(f"{found} of {len(chosen)} questions find their evidence; {time.monotonic() - began:.1f} s")


def _finds(graph: Graph, question: dict[str, Any]) -> bool:
    evidence = question["evidence"]
    wanted = _words(evidence if isinstance(evidence, str) else " ".join(evidence))
    answer = graph.ask(question["question"], top_k=10)
    return any(len(wanted & _words(each.text)) >= _SHARE * len(wanted) for each in answer.passages)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower())) - STOP_WORDS


def _refuse(*_: Any) -> Any:
    raise AssertionError("an extractor was called for a document that brings its facts")


if __name__ == "__main__":
    main(sys.argv[1:])
