"""Accuracy of mode `auto`'s classification of questions: `python -m tests.bench.auto_choice`.

The questions were written for this bench, about the bundled sample and about collections at large, each labelled with
the kind of question; none is from the retrieval benchmark. The rules were developed with every second question at hand
("seen") and without the others ("held"); the same author wrote rules and questions, so the held figures are optimistic,
too. Prints accuracy and a confusion table. `tests/unit/graph/test_auto.py` enforces a lower bound on it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphtide.graph.retrieval.modes.auto import DOCUMENTS, FACT, RELATION, SEVERAL, THEME, choose
from graphtide.graph.view import LiveView

KINDS = (FACT, SEVERAL, RELATION, THEME, DOCUMENTS)
QUESTIONS = Path(__file__).with_name("auto_questions.jsonl")


@dataclass(frozen=True, slots=True)
class Labelled:
    question: str
    kind: str
    part: str


def labelled() -> list[Labelled]:
    return [Labelled(**json.loads(line)) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]


def taken(view: LiveView, rows: Sequence[Labelled]) -> Counter[tuple[str, str]]:
    """Count the questions by (label, chosen kind)."""
    modes = {"local", "passages", "bridge", "global-dynamic", "nakg"}
    return Counter((row.kind, choose(view, row.question, modes).kind) for row in rows)


def accuracy(counts: Counter[tuple[str, str]]) -> float:
    return sum(times for (label, found), times in counts.items() if label == found) / max(sum(counts.values()), 1)


def table(counts: Counter[tuple[str, str]]) -> str:
    """Return the confusion table: a row for each label, a column for each chosen kind."""
    head = f"{'':20}" + "".join(f"{kind:>20}" for kind in KINDS)
    rows = [f"{label:20}" + "".join(f"{counts[label, kind]:20}" for kind in KINDS) for label in KINDS]
    return "\n".join([head, *rows])


def main() -> None:
    from tests.support.sample_view import sample_view

    rows, view = labelled(), sample_view()
    for part in ("seen", "held"):
        counts = taken(view, [row for row in rows if row.part == part])
        print(f"\n{part}: {sum(counts.values())} questions, {accuracy(counts):.0%} taken for what they are\n")
        print(table(counts))
    for row in rows:
        choice = choose(view, row.question, {"local", "passages", "bridge", "global-dynamic", "nakg"})
        if choice.kind != row.kind:
            print(f"  {row.part}: {row.question}\n      is {row.kind}, was taken for {choice.why}")


if __name__ == "__main__":
    main()
