"""The trial `make try-llm`: a few documents and questions with the models in the settings, with results and cost.

It builds no graph and stores nothing, so it can be repeated. It shows the properties of an endpoint that matter before
a corpus is sent to it: reachability, schema support, latency, extractions supported by the text, and cost.
"""

from __future__ import annotations

import asyncio
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass

import numpy as np
from prometheus_client import CollectorRegistry
from rich.console import Console
from rich.table import Table
from rich.text import Text

from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.models.usage.counters import Tally
from graphtide.infra.settings import SettingsError, load_settings
from graphtide.services.cli.terminal import console, tell
from graphtide.services.demo.sample import first_editions, questions
from graphtide.services.model_wiring import Memos, ModelSet, Plan, open_models, plan
from graphtide.streams.errors import GraphtideError
from graphtide.streams.extract.pipeline import ExtractionLimits, extract
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import ContextPassage
from graphtide.streams.usage import Bill, BillingContext, Stage, paid_by

GRAPH = "trial"
DOCUMENTS = 5
QUESTIONS = 3
SHOWN_PASSAGES = 3


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One document read or question answered: the outcome, the duration, the cost."""

    about: str
    outcome: str
    seconds: float
    bill: Bill


def main() -> int:
    """Run the trial; return the exit code, 0 when every call was answered."""
    try:
        chosen = plan(load_settings())
    except (SettingsError, GraphtideError) as error:
        tell(f"try-llm: {error}")
        return 2
    if not chosen.settings.llm_base_url:
        tell("try-llm: no endpoint is set; set GRAPHTIDE_LLM_BASE_URL and GRAPHTIDE_LLM_MODEL (see docs/models.md)")
        return 2
    return asyncio.run(_run(chosen, console()))


async def _run(chosen: Plan, out: Console) -> int:
    tally = Tally(registry := CollectorRegistry())
    accounts = UsageAccounting(rules=chosen.rules, tally=tally)
    async with AsyncExitStack() as stack:
        memos = Memos(MemoryVectorStore(), MemoryVectorStore())
        models = open_models(chosen, accounts, memos, tally, stack)
        if models.chat is None:
            return 2
        out.print(Text(f"{models.chat.model} at {models.chat.where}", "bold"))
        steps: list[TrialStep] = []
        failed = await _take(models, steps, out)
        if steps:
            out.print(Text(f"\nschemas: {models.chat.schema_support}"))
        _report(out, steps, accounts.priced, registry)
    return 1 if failed else 0


async def _take(models: ModelSet, steps: list[TrialStep], out: Console) -> bool:
    """Read the documents, then ask the questions; return True when a call failed."""
    passages: list[ContextPassage] = []
    vectors: list[np.ndarray] = []
    try:
        for number, edition in enumerate(first_editions()[:DOCUMENTS]):
            document = DocumentMessage(GRAPH, edition.id, edition.text, DocumentInfo(edition.title))
            extraction, step = await _read(models, document, number)
            steps.append(step)
            out.print(Text(f"  {step.about}: {step.outcome}, {step.seconds:.1f} s"))
            for unit in extraction.units:
                passages.append(ContextPassage(unit.text, edition.title, edition.id, f"{edition.id}#{len(passages)}"))
                vectors.append(unit.vector.astype(np.float32))
        for asked in questions()[:QUESTIONS]:
            step = await _ask(models, asked.question, passages, vectors)
            steps.append(step)
            out.print(Text(f"  {step.about}\n    {step.outcome}, {step.seconds:.1f} s"))
    except GraphtideError as error:
        tell(f"try-llm: {error}")
        return True
    return False


async def _read(models: ModelSet, document: DocumentMessage, revision: int) -> tuple[Extraction, TrialStep]:
    bill, started = Bill(), time.monotonic()
    with paid_by(BillingContext(GRAPH, document.doc_id, bill=bill)):
        extraction = await extract(document, revision, models.reading, ExtractionLimits())
    entities = sum(len(unit.mentions) for unit in extraction.units)
    relations = sum(len(unit.facts) for unit in extraction.units)
    outcome = f"{entities} entities, {relations} relations"
    return extraction, TrialStep(document.info.title or document.doc_id, outcome, time.monotonic() - started, bill)


async def _ask(models: ModelSet, question: str, passages: list[ContextPassage], vectors: list[np.ndarray]) -> TrialStep:
    bill, started = Bill(), time.monotonic()
    with paid_by(BillingContext(GRAPH, question=True, bill=bill)):
        asked = (await models.embedder.embed([question]))[0]
        nearest = np.argsort(-np.stack(vectors) @ asked)[:SHOWN_PASSAGES]
        answer = await models.generator.answer(question, [passages[at] for at in nearest])
    return TrialStep(question, answer.text, time.monotonic() - started, bill)


def _report(out: Console, steps: list[TrialStep], priced: bool, registry: CollectorRegistry) -> None:
    """Print the calls, tokens and cost by stage."""
    columns = ["stage", "calls", "prompt tokens", "completion tokens", *(["cost"] if priced else [])]
    table = Table(*columns, box=None, pad_edge=False)
    for stage in Stage:
        spent = [step.bill.stages[stage] for step in steps if stage in step.bill.stages]
        if spent:
            total = sum(spent[1:], spent[0])
            figures = [f"{total.calls}", f"{total.prompt_tokens:,}", f"{total.completion_tokens:,}"]
            table.add_row(stage.value, *figures, *([f"{total.cost:.6f}"] if priced else []))
    out.print(table)
    left_out = [each for each in registry.collect() if each.name == "graphtide_extraction_items_dropped"]
    for sample in (sample for each in left_out for sample in each.samples if sample.name.endswith("_total")):
        out.print(Text(f"left out, by {sample.labels['reason']}: {sample.value:.0f}", "dim"))


if __name__ == "__main__":
    sys.exit(main())
