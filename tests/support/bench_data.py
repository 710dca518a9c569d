"""Location and reader of the real data of tests and benches: `GRAPHTIDE_BENCH_DATA`, or a folder beside the clone."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_STOP_WORDS = """a an the of in on at to for by with from and or is was were are be been it its that this which who whom
whose what when where why how did do does as his her their he she they"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def bench_data() -> Path:
    """Return the folder with `musique/` and `graphs/`; it may not exist."""
    return Path(os.environ.get("GRAPHTIDE_BENCH_DATA") or ROOT.parent / "shared" / "bench")


def embedder_script() -> Path:
    """Return the path of the embedding endpoint's script; it may not exist."""
    return bench_data().parent / "embedder" / "serve.py"


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of the MuSiQue corpus, with the entities and triples that a model extracted from it."""

    doc_id: str
    title: str
    text: str
    entities: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]

    def body(self) -> dict[str, Any]:
        """Return the document as `PUT /v1/graphs/{graph}/documents/{id}` takes it."""
        return {
            "text": self.text,
            "title": self.title,
            "entities": [{"name": name} for name in self.entities],
            "facts": [{"subject": s, "predicate": p, "object": o} for s, p, o in self.triples],
        }


@dataclass(frozen=True, slots=True)
class MultiHop:
    """A question with the ids of the passages that together contain its answer."""

    question: str
    answer: str
    supporting: frozenset[str]


def corpus() -> list[Passage]:
    """Return the MuSiQue passages in file order, without the blank names and ends that models produce."""
    found = []
    for line in (bench_data() / "musique" / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        entities = tuple(name for name in row["entities"] if name.strip())
        triples = tuple((s, p, o) for s, p, o in row["triples"] if s.strip() and p.strip() and o.strip())
        found.append(Passage(row["id"], row["title"], row["text"], entities, triples))
    return found


def questions() -> list[MultiHop]:
    lines = (bench_data() / "musique" / "questions.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [MultiHop(row["question"], row["answer"], frozenset(row["supporting"])) for row in rows]


def lexical_words(text: str) -> list[str]:
    """Return words as the BM25 baseline counts them: lower case, without stop words, which weaken the baseline."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS]


def recall(ranked: list[str], supporting: frozenset[str], k: int) -> float:
    """Return the share of the supporting passages among the first k."""
    return len(supporting & set(ranked[:k])) / len(supporting)
