"""The summary writer: when a summary is due, and that no outdated one is shown, stored or paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.entity_descriptions import (
    MAX_TOKENS,
    DescribedSentence,
    EntityProfile,
    describe,
    extractive_summary,
    profile,
)
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta
from graphtide.graph.reports.entity_summaries import ENTITY, EntitySummaryCache, storage_id
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.cache.summaries import MemoisedSummarizer
from graphtide.streams.errors import BudgetExceeded
from graphtide.streams.summarize.summary_writer import SummaryWriter
from tests.model.memory.ledger import MemoryLedger
from tests.model.memory.log import MemoryLog
from tests.model.memory.rows import Rows
from tests.model.memory.store import MemoryGraphStore
from tests.support.extractions import unit
from tests.support.worlds import empty_view

DESCRIPTION = "Ada saw thing {} of the engine, " + "and noted with care what it did, " * 8 + "as {} tells."
DESCRIPTIONS = 12
"""Some sixty tokens each: together beyond what a description holds."""


@dataclass
class Telling:
    """A Summarizer that says one sentence on the first two descriptions, and remembers what it was asked."""

    asked: list[EntityProfile] = field(default_factory=list)
    unreachable: bool = False

    @property
    def name(self) -> str:
        return "telling"

    async def summarize(self, profile: EntityProfile) -> tuple[DescribedSentence, ...]:
        if self.unreachable:
            raise BudgetExceeded("the budget of today is used up", 60.0)
        self.asked.append(profile)
        return (DescribedSentence(f"In short: {profile.descriptions[0].text[:40]}", (0, 1)),)


class DescribedGraph:
    """A graph of documents that describe Ada, a store, and who writes what she is."""

    def __init__(self) -> None:
        self.writer, self.view, self.rows = Consolidator("g"), empty_view(), Rows("g")
        self.view.graph = "g"
        log = MemoryLog(1, lambda: 0)
        self.store = MemoryGraphStore(log, MemoryLedger(log, lambda: 0))
        self.summarizer = Telling()
        self.summaries = SummaryWriter(self.store, MemoisedSummarizer(self.summarizer, MemoryVectorStore()))
        self.live: dict[str, Extraction] = {}
        self.touched: set[int] = set()

    def publish(self, doc_id: str, description: str | None, name: str = "Ada") -> GraphDelta:
        """One document with one description, or its deletion."""
        new = None
        if description is not None:
            new = Extraction(
                doc_id, 1, DocumentInfo(), (unit(f"Of {name} in {doc_id}.", [(name, "", description)], []),)
            )
        delta = self.writer.apply([DocumentChange(doc_id, self.live.pop(doc_id, None), new)])
        self.view.apply(delta)
        self.rows.apply(delta)
        self.live |= {doc_id: new} if new else {}
        self.touched |= {row.node for row in delta.entities}
        return delta

    async def write(self) -> int:
        await self.summaries.touch(self.view, self.touched)
        self.touched.clear()
        return await self.summaries.write(self.view)

    async def filled(self) -> DescribedGraph:
        """With more descriptions than fit, and a summary of them."""
        for n in range(DESCRIPTIONS):
            self.publish(f"d{n:02}", DESCRIPTION.format(n, n))
        assert await self.write() == 1
        return self

    @property
    def ada(self) -> int:
        return next(node for node, entity in self.view.entities.items() if entity.name == "Ada")

    def text(self) -> str:
        return describe(self.view, self.ada)


async def test_entity_is_summarised_only_beyond_what_a_description_holds() -> None:
    """Below it no model is called, beyond it once; the summary replaces the description, outside the digest."""
    one = DescribedGraph()
    for n in range(3):
        one.publish(f"d{n:02}", DESCRIPTION.format(n, n))
    assert await one.write() == 0
    before = digest(one.view.rows())
    for n in range(3, DESCRIPTIONS):
        one.publish(f"d{n:02}", DESCRIPTION.format(n, n))
    cut = one.text()
    assert await one.write() == 1 == len(one.summarizer.asked)
    assert one.text().startswith("In short") and cut.startswith("Ada saw") and count_tokens(cut) <= MAX_TOKENS
    assert len(one.summarizer.asked[0].descriptions) == DESCRIPTIONS
    summarised = digest(one.view.rows())
    one.view.summaries = EntitySummaryCache()
    assert one.text() == cut and digest(one.view.rows()) == summarised != before


async def test_update_that_changes_little_or_nothing_costs_no_call() -> None:
    """Another entity, the same description again, one more of twelve: none; a dozen more: one."""
    one = await DescribedGraph().filled()
    one.publish("other", "Writes letters.", "Babbage")
    one.publish("again", DESCRIPTION.format(0, 0))
    assert await one.write() == 0 == await one.write()
    one.publish("more0", DESCRIPTION.format(90, 90))
    assert await one.write() == 0
    for n in range(1, 13):
        one.publish(f"more{n}", DESCRIPTION.format(90 + n, 90 + n))
    assert await one.write() == 1 and len(one.summarizer.asked) == 2


async def test_summary_goes_with_a_document_that_it_cites() -> None:
    """At once, from every look; from the store at the next write; what comes back costs nothing."""
    one = await DescribedGraph().filled()
    [row] = await one.store.reports("g")
    assert row.level == ENTITY and row.community == storage_id(one.view.entities[one.ada].id) < 0
    cited = row.sources[0].partition("#")[0]
    gone = one.live[cited].units[0].mentions[0].description
    one.publish(cited, None)
    assert one.view.summaries.summary(one.view, one.ada) is None
    assert gone not in one.text() and not one.text().startswith("In short")
    one.summarizer.unreachable = True
    with pytest.raises(BudgetExceeded):
        await one.write()
    assert await one.store.reports("g") == []
    one.summarizer.unreachable = False
    assert await one.write() == 1 and one.text().startswith("In short")
    assert all(source in one.view.chunk_numbers for row in await one.store.reports("g") for source in row.sources)
    calls = len(one.summarizer.asked)
    [row] = await one.store.reports("g")
    one.publish(cited, gone)
    one.publish(row.sources[0].partition("#")[0], None)
    one.publish(row.sources[0].partition("#")[0], one.summarizer.asked[-1].descriptions[0].text)
    assert await one.write() == 1 and len(one.summarizer.asked) == calls  # the first twelve: cached


async def test_summary_is_not_shown_once_the_entity_is_made_of_other_labels() -> None:
    """A label joins: the summary spoke of another entity than the one that there is now, and is written anew."""
    one = await DescribedGraph().filled()
    [named] = [row.title for row in await one.store.reports("g")]
    one.view.entities[one.ada].labels += (max(one.view.labels) + 1,)
    one.view.labels[one.view.entities[one.ada].labels[-1]] = one.view.labels[one.view.entities[one.ada].labels[0]]
    assert one.view.summaries.summary(one.view, one.ada) is None and one.view.summaries.has_summary(named.split()[0])
    one.touched.add(one.ada)
    assert await one.write() == 1
    assert [row.title for row in await one.store.reports("g")] != [named]


async def test_summary_is_dropped_when_what_is_said_fits_again() -> None:
    """With the documents that it does not cite gone, too, the store forgets it."""
    one = await DescribedGraph().filled()
    for doc_id in sorted(one.live)[2:]:
        one.publish(doc_id, None)
    assert await one.write() == 0
    assert one.text().startswith("Ada saw thing 0") and await one.store.reports("g") == []
    for doc_id in sorted(one.live):
        one.publish(doc_id, None)
    assert await one.write() == 0


async def test_summaries_of_a_view_that_was_opened_again_are_the_same_and_cost_nothing() -> None:
    """A restart reads them from the store; one without a store finds what a model said in the memo."""
    one = await DescribedGraph().filled()
    again = empty_view()
    again.apply(one.rows.snapshot())
    again.graph = "g"
    summarizer = Telling()
    assert await SummaryWriter(one.store, summarizer).write(again) == 0 == len(summarizer.asked)
    assert describe(again, one.ada) == one.text()


async def test_what_could_not_be_written_is_owed() -> None:
    """A budget that is used up: the next write, with nothing touched, does it."""
    one = DescribedGraph()
    assert await one.write() == 0
    for n in range(DESCRIPTIONS):
        one.publish(f"d{n:02}", DESCRIPTION.format(n, n))
    one.summarizer.unreachable = True
    with pytest.raises(BudgetExceeded):
        await one.write()
    one.summarizer.unreachable = False
    assert await one.write() == 1


def test_summary_that_quotes_stays_within_the_bound() -> None:
    """The most frequent first; one huge description alone is cut at a word."""
    one = DescribedGraph()
    for n in range(DESCRIPTIONS):
        one.publish(f"d{n:02}", DESCRIPTION.format(n % 7, n % 7))
    one.publish("huge", "word " * 700)
    profile = _profile(one)
    assert count_tokens(" ".join(each.text for each in extractive_summary(profile))) <= MAX_TOKENS
    alone = DescribedGraph()
    alone.publish("huge", "word " * 700)
    [sentence] = extractive_summary(_profile(alone))
    assert sentence.text.endswith("word \u2026") and count_tokens(sentence.text) <= MAX_TOKENS


def _profile(one: DescribedGraph) -> EntityProfile:
    found = profile(one.view, one.ada)
    assert found is not None and _distinct([each.text for each in found.descriptions])
    return found


def _distinct(texts: Sequence[str]) -> bool:
    return len(set(texts)) == len(texts)
