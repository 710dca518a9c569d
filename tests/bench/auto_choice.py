"""How often mode `auto` takes a question for what it is: `python -m tests.bench.auto_choice`.

Questions written for this, about the bundled sample and about collections at large, each labelled with what it asks
for; none is of the retrieval benchmark. The rules were looked at beside every second question ("seen"), and not beside
the others ("held"); the same hand wrote rules and questions, so held figures flatter, too. Prints accuracy and a table
of what was taken for what. `tests/unit/graph/test_auto.py` holds a floor under it.
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
    """(label, what it was taken for): how often."""
    modes = {"local", "passages", "bridge", "global-dynamic", "nakg"}
    return Counter((row.kind, choose(view, row.question, modes).kind) for row in rows)


def accuracy(counts: Counter[tuple[str, str]]) -> float:
    return sum(times for (label, found), times in counts.items() if label == found) / max(sum(counts.values()), 1)


def table(counts: Counter[tuple[str, str]]) -> str:
    """Labels down, what they were taken for across."""
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
