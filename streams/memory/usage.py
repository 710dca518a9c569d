"""The reference of the Spending port: the books in this process, gone with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count

from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage, check_budget, for_document


class MemoryUsageLedger:
    """See `graphtide.streams.usage.Spending`."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, str, Stage], ModelUsage] = {}
        self._documents: dict[tuple[str, str], ModelUsage] = {}
        self._open: dict[int, tuple[Charge, ModelUsage]] = {}
        self._numbers = count(1)

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """See Spending.reserve."""
        figures = {"settled": self._on(charge.graph, charge.day), "open": self._aside(charge.graph, charge.day)}
        check_budget(charge, figures, expected, budget)
        number = next(self._numbers)
        self._open[number] = charge, expected
        return number

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """See Spending.settle."""
        held = self._open.pop(number, None)
        if held is None:
            return
        charge, _ = held
        key = (charge.graph, charge.day, charge.stage)
        self._settled[key] = self._settled.get(key, ModelUsage()) + spent
        if charge.doc_id:
            document = (charge.graph, charge.doc_id)
            self._documents[document] = self._documents.get(document, ModelUsage()) + for_document(charge.stage, spent)

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """See Spending.day."""
        return _together(self._on(graph, day), self._aside(graph, day))

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """See Spending.stages."""
        return _together(*({stage: one} for (of, _, stage), one in self._settled.items() if of == graph))

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """See Spending.document."""
        return self._documents.get((graph, doc_id), ModelUsage())

    def _on(self, graph: str, day: str) -> dict[Stage, ModelUsage]:
        return {stage: one for (of, on, stage), one in self._settled.items() if (of, on) == (graph, day)}

    def _aside(self, graph: str, day: str) -> dict[Stage, ModelUsage]:
        mine = ((charge, one) for charge, one in self._open.values() if (charge.graph, charge.day) == (graph, day))
        return _together(*({charge.stage: one} for charge, one in mine))


def _together(*parts: Mapping[Stage, ModelUsage]) -> dict[Stage, ModelUsage]:
    found: dict[Stage, ModelUsage] = defaultdict(ModelUsage)
    for part in parts:
        for stage, one in part.items():
            found[stage] += one
    return {stage: one for stage, one in found.items() if one != ModelUsage()}
