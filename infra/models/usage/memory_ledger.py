"""The reference of the UsageLedger port: the figures in memory, not durable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count

from graphtide.streams.usage import Budget, Charge, ModelUsage, Stage, check_budget, for_document


class MemoryUsageLedger:
    """The in-memory UsageLedger (`graphtide.streams.usage`)."""

    def __init__(self) -> None:
        self._settled: dict[tuple[str, str, Stage], ModelUsage] = {}
        self._documents: dict[tuple[str, str], ModelUsage] = {}
        self._open: dict[int, tuple[Charge, ModelUsage]] = {}
        self._numbers = count(1)

    async def reserve(self, charge: Charge, expected: ModelUsage, budget: Budget) -> int:
        """See UsageLedger.reserve."""
        figures = {
            "settled": self._settled_on(charge.graph, charge.day),
            "open": self._open_on(charge.graph, charge.day),
        }
        check_budget(charge, figures, expected, budget)
        number = next(self._numbers)
        self._open[number] = charge, expected
        return number

    async def settle(self, number: int, spent: ModelUsage) -> None:
        """See UsageLedger.settle."""
        reserved = self._open.pop(number, None)
        if reserved is None:
            return
        charge, _ = reserved
        key = (charge.graph, charge.day, charge.stage)
        self._settled[key] = self._settled.get(key, ModelUsage()) + spent
        if charge.doc_id:
            document = (charge.graph, charge.doc_id)
            self._documents[document] = self._documents.get(document, ModelUsage()) + for_document(charge.stage, spent)

    async def day(self, graph: str, day: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.day."""
        return _sum(self._settled_on(graph, day), self._open_on(graph, day))

    async def stages(self, graph: str) -> Mapping[Stage, ModelUsage]:
        """See UsageLedger.stages."""
        return _sum(*({stage: used} for (of, _, stage), used in self._settled.items() if of == graph))

    async def document(self, graph: str, doc_id: str) -> ModelUsage:
        """See UsageLedger.document."""
        return self._documents.get((graph, doc_id), ModelUsage())

    def _settled_on(self, graph: str, day: str) -> dict[Stage, ModelUsage]:
        return {stage: used for (of, on, stage), used in self._settled.items() if (of, on) == (graph, day)}

    def _open_on(self, graph: str, day: str) -> dict[Stage, ModelUsage]:
        entries = ((charge, used) for charge, used in self._open.values() if (charge.graph, charge.day) == (graph, day))
        return _sum(*({charge.stage: used} for charge, used in entries))


def _sum(*parts: Mapping[Stage, ModelUsage]) -> dict[Stage, ModelUsage]:
    found: dict[Stage, ModelUsage] = defaultdict(ModelUsage)
    for part in parts:
        for stage, used in part.items():
            found[stage] += used
    return {stage: used for stage, used in found.items() if used != ModelUsage()}
