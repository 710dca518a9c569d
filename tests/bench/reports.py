"""Cost of community reports: `python -m tests.bench.reports [--documents N] [--edits 40]`.

Four tables over the MuSiQue corpus with its own facts, embedded by hashing:

1. the reports of the whole graph, by level: their number, and the maximum size of a model's input;
2. one paragraph of one document edited: rewritten reports as a share of all, with the least change at its default and
   at nothing, and for an edit that changes nothing;
3. the same with four times less of the corpus: the cost of an edit in relation to the size of the graph;
4. tokens of `global` and `global-dynamic` for the same questions, against the tests' endpoint.

Real: the number and size of reports, for every edit; the tokens of the requests. Not real: the relevance, since ratings
come from shared words (the endpoint) and from the neighbourhood of a hashing embedding, and the length of answers,
which are quotations. It asserts nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, Extraction
from graphtide.graph.reports.subject import CommunityContext, Report, extractive_report
from graphtide.graph.retrieval.types import Question
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.generator import OpenAIGenerator
from graphtide.infra.models.openai.rater import OpenAIRater
from graphtide.infra.models.openai.reporter import shown
from graphtide.services.query.generate import generate_answer
from graphtide.services.query.retrieve import RetrievalTools, retrieve_context
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.follow.delta_records import notice
from graphtide.streams.messages import unit_key
from graphtide.streams.model_ports import Rater
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter, Shelves
from tests.bench.retrieval_graph import message_of
from tests.model.memory.ledger import MemoryLedger
from tests.model.memory.log import MemoryLog
from tests.model.memory.store import MemoryGraphStore
from tests.support.bench_data import Passage, bench_data, corpus
from tests.support.llm_server import LlmServer, Seen

QUESTIONS = (
    "What are the main themes of these documents?",
    "Which wars and battles are described, and who fought them?",
    "How is football organised, and which clubs and leagues matter?",
    "What is said about universities and research?",
    "Which rivers and lakes are described, and where do they flow?",
    "Across all documents, what is said about presidents and elections?",
    "How did railways and transport develop?",
    "Which record labels and bands are covered?",
    "What do the documents say about religion and churches?",
    "Which films and television series are described, and by whom were they made?",
    "What is known of kings, queens and their families?",
    "How do cities grow, and what are they known for?",
)


@dataclass
class Counting:
    """An extractive reporter that counts its calls."""

    asked: list[CommunityContext] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "counting"

    async def report(self, subject: CommunityContext) -> Report:
        self.asked.append(subject)
        return extractive_report(subject)


class World:
    """A writer, its view, and its reports."""

    def __init__(self, documents: Sequence[Extraction], least_change: float) -> None:
        self.live = {one.doc_id: one for one in documents}
        self.writer = Consolidator("bench")
        dimensions = HashingEmbedder().dimensions
        self.view = LiveView("bench", VectorIndexes(*(ExactIndex(dimensions) for _ in range(3))))
        self.reporter = Counting()
        log = MemoryLog(1, lambda: 0)
        self.store = MemoryGraphStore(log, MemoryLedger(log, lambda: 0))
        self.reports = ReportWriter(self.store, self.reporter, ReportPolicy(least_change))

    def build(self) -> None:
        for one in self.live.values():
            self.view.apply(self.writer.apply([DocumentChange(one.doc_id, None, one)]))

    async def edit(self, doc_id: str, new: Extraction) -> tuple[int, int]:
        """Publish a revision; return the requested reports, and the communities above the change."""
        delta = self.writer.apply([DocumentChange(doc_id, self.live[doc_id], new)])
        self.view.apply(delta)
        self.live[doc_id] = new
        nodes = notice(delta).nodes
        above = {self.view.hierarchy.community(node, level) for node in nodes for level in range(3)} - {0}
        before = len(self.reporter.asked)
        await self.reports.write(self.view, nodes)
        return len(self.reporter.asked) - before, sum(self.view.contents.entities(one) >= 3 for one in above)


def extractions(passages: Sequence[Passage]) -> list[Extraction]:
    models, caps = (
        ExtractionModels(SemanticChunker(max_tokens=100_000), OfflineExtractor(), HashingEmbedder()),
        ExtractionLimits(),
    )

    async def read() -> list[Extraction]:
        return [await extract(message_of(one), number, models, caps) for number, one in enumerate(passages)]

    return asyncio.run(read())


def edited(one: Extraction, rng: random.Random) -> Extraction:
    """Return the document with its paragraph changed: a further sentence, and one fact less if there are several."""
    unit = one.units[0]
    facts = unit.facts[:-1] if len(unit.facts) > 1 else unit.facts
    text = f"{unit.text} This was revised {rng.randrange(10**6)} times."
    key = unit_key(text, unit.vector, unit.mentions, facts)
    changed = replace(unit, key=key, text=text, end=unit.start + len(text), facts=facts)
    return replace(one, revision=one.revision + 100_000, units=(changed, *one.units[1:]))


async def reports_table(documents: Sequence[Extraction]) -> World:
    world = World(documents, least_change=0.2)
    world.build()
    started = time.perf_counter()
    total = await world.reports.write(world.view, ())
    print(f"\n{len(documents)} documents, {len(world.view.entities)} entities: {total} reports")
    print(f"written without a model in {time.perf_counter() - started:.1f} s\n")
    print("level   reports   entities: median, most   tokens shown to a model: median, most")
    by_level: dict[int, list[CommunityContext]] = {}
    for one in world.reporter.asked:
        by_level.setdefault(one.level, []).append(one)
    for level, some in sorted(by_level.items()):
        sizes, tokens = [one.size for one in some], [count_tokens(shown(one)) for one in some]
        row = f"{level:5} {len(some):9} {statistics.median(sizes):17.0f} {max(sizes):6}"
        print(f"{row} {statistics.median(tokens):33.0f} {max(tokens):6}")
    return world


async def edits_table(documents: Sequence[Extraction], edits: int) -> None:
    print("\nOne paragraph of one document edited:\n")
    print("documents   least change   communities above   reports written: mean, median, most   share of all")
    for some in (documents[: len(documents) // 4], documents):
        for min_change in (0.2, 0.0):
            rng = random.Random(1)
            world = World(some, min_change)
            world.build()
            total = await world.reports.write(world.view, ())
            chosen = rng.sample(sorted(world.live), min(edits, len(some)))
            rows = [await world.edit(doc_id, edited(world.live[doc_id], rng)) for doc_id in chosen]
            calls, above = [row[0] for row in rows], [row[1] for row in rows]
            mean = statistics.mean(calls)
            row = f"{len(some):9} {min_change:14} {statistics.mean(above):19.1f} {mean:17.1f}"
            print(f"{row}, {statistics.median(calls):.0f}, {max(calls)} {mean / total:26.2%}  of {total}")
            same = world.live[sorted(world.live)[0]]
            nothing, _ = await world.edit(same.doc_id, replace(same, revision=same.revision + 1))
            print(f"{'':9} {'':14} an update that changes nothing: {nothing}")


async def tokens_table(world: World) -> None:
    print(f"\nTokens for the same {len(QUESTIONS)} questions (sent + received), reports of level 1:\n")
    print("mode              rater           parts   calls: rate  map+final   tokens: rate      map+final     all")
    embedder = HashingEmbedder()
    base = 0
    with LlmServer() as server:
        chat = OpenAIChat(ChatEndpoint(server.base_url, "bench", "none"))
        raters: list[tuple[str, str, Rater | None]] = [
            ("global", "", None),
            ("global-dynamic", "neighbourhood", None),
            ("global-dynamic", "words", OpenAIRater(chat)),
        ]
        pool = WorkPool()
        for mode, named, rater in raters:
            server.seen.clear()
            parts = 0
            for text in QUESTIONS:
                vector = np.asarray((await embedder.embed([text]))[0], np.float32)
                tools = RetrievalTools(Shelves(world.store), pool, rater)
                retrieved, used = await retrieve_context(world.view, Question(text, vector, mode=mode), tools)
                parts += len(retrieved.parts)
                await generate_answer(OpenAIGenerator(chat), text, used)
            rated, rest = (
                _sums([one for one in server.seen if _rates(one)]),
                _sums([one for one in server.seen if not _rates(one)]),
            )
            spent = rated["tokens"] + rest["tokens"]
            base = base or spent
            row = f"{mode:17} {named:13} {parts:7} {rated['calls']:13} {rest['calls']:10} {rated['tokens']:14}"
            print(f"{row} {rest['tokens']:14} {spent:8}  {spent / base - 1:+.0%}")
        await chat.close()


def _rates(seen: Seen) -> bool:
    return '"ratings"' in seen.instructions


def _sums(some: Sequence[Seen]) -> Counter[str]:
    return Counter(calls=len(some), tokens=sum(one.prompt_tokens + one.completion_tokens for one in some))


async def run(documents: Sequence[Extraction], edits: int) -> None:
    world = await reports_table(documents)
    await tokens_table(world)
    await edits_table(documents, edits)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10**9, help="take so many documents of the corpus only")
    parser.add_argument("--edits", type=int, default=40, help="how many documents are edited, one after another")
    options = parser.parse_args()
    if not (bench_data() / "musique").exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds musique/.")
    asyncio.run(run(extractions(corpus()[: options.documents]), options.edits))


if __name__ == "__main__":
    main()
