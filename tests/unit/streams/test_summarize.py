"""The summarize stage on both storages: no report is paid for twice, none outlives its sources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from graphtide.graph.reports.subject import CommunityContext, Report, extractive_report
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.errors import BudgetExceeded, Retryable
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DELTAS, DocumentMessage, GivenFact, ReportRequest
from graphtide.streams.ports import Record, ReportRow
from graphtide.streams.summarize.report_requests import ReportRequestPublisher
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter, Shelves
from graphtide.streams.summarize.stage import STAGE, DebounceSettings, SummarizeStage
from tests.support.backends import NAMES, Backend, Clock, opened
from tests.support.stages import ExactKeeper, Seen, committed, eventually, extract_stage, running
from tests.support.worlds import empty_view

AT_ONCE = DebounceSettings(quiet_s=0.02)


@dataclass
class Counting:
    """A Reporter that remembers its calls, and fails as often as configured."""

    asked: list[CommunityContext] = field(default_factory=list)
    failures: int = 0
    refuses: bool = False

    @property
    def name(self) -> str:
        return "counting"

    async def report(self, subject: CommunityContext) -> Report:
        if self.failures:
            self.failures -= 1
            raise Retryable("the model is unreachable")
        if self.refuses:
            raise BudgetExceeded("the budget of graph 'g' is used up", 0.2)
        self.asked.append(subject)
        return extractive_report(subject)


@dataclass
class Pipeline:
    """All stages over one storage."""

    backend: Backend
    views: ViewRegistry
    reporter: Counting

    async def send(self, doc_id: str, *facts: tuple[str, str, str]) -> None:
        """Publish a document with these facts (none: delete it) and wait until its reports are written."""
        record = Record(f"g|{doc_id}", None)
        if facts:
            text = " ".join(f"{subject} {predicate} {object_}." for subject, predicate, object_ in facts)
            given = tuple(GivenFact(*fact) for fact in facts)
            message = DocumentMessage("g", doc_id, text, facts=given)
            record = Record(message.key, message.encode())
        await self.backend.ledger.accept([record])
        await eventually(self.written)

    async def written(self) -> bool:
        """Return True once every revision has its final state, the view shows it, and every notice has its reports.

        The state is visible in the storage a moment before the notice is announced to consumers.
        """
        if await self.backend.ledger.pending("g"):
            return False
        if (await self.backend.store.graphs()).get("g", 0) != self.views.version("g"):
            return False
        return await committed(self.backend, DELTAS, STAGE) == -1

    async def reports(self) -> list[ReportRow]:
        """Return the served reports."""
        view = self.views.get("g")
        assert view is not None
        return view.reports.reports(view)


@pytest.fixture(params=NAMES)
async def pipeline(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pipeline]:
    """A running pipeline on each storage."""
    async with opened(request.param, tmp_path, Clock()) as backend:
        views, seen, reporter = ViewRegistry(ExactKeeper()), Seen(), Counting()
        consolidate = ConsolidateStage(backend.log, backend.store, views.follow, seen)
        summarize = SummarizeStage(backend.log, views, ReportWriter(backend.store, reporter), seen, AT_ONCE)
        async with running(extract_stage(backend).run), running(consolidate.run), running(summarize.run):
            yield Pipeline(backend, views, reporter)


ENGINE = (("Ada Lovelace", "knew", "Charles Babbage"), ("Charles Babbage", "built", "Difference Engine"))
CIRCLE = (*ENGINE, ("Ada Lovelace", "described", "Difference Engine"))
ELSEWHERE = (("Volga", "flows into", "Caspian Sea"), ("Volga", "passes", "Kazan"), ("Kazan", "lies on", "Volga"))


async def test_summarize_writes_no_report_when_an_update_changes_nothing(pipeline: Pipeline) -> None:
    """The same document again, and a document about something else: the first community is not paid for again."""
    await pipeline.send("a", *CIRCLE)
    asked = len(pipeline.reporter.asked)
    assert asked and await pipeline.reports()
    await pipeline.send("a", *CIRCLE)
    assert len(pipeline.reporter.asked) == asked
    await pipeline.send("b", *ELSEWHERE)
    again = [one for one in pipeline.reporter.asked[asked:] if "Ada Lovelace" in one.entities]
    assert len(pipeline.reporter.asked) > asked and not again


async def test_summarize_writes_a_report_again_when_its_community_changed(pipeline: Pipeline) -> None:
    """One more document says the same: the support changed, so the report is written anew, from the new state."""
    await pipeline.send("a", *CIRCLE)
    asked = len(pipeline.reporter.asked)
    await pipeline.send("b", *CIRCLE)
    assert len(pipeline.reporter.asked) > asked
    assert all(finding.count == 2 for finding in pipeline.reporter.asked[-1].findings)


async def test_report_is_never_served_once_a_source_is_deleted(pipeline: Pipeline) -> None:
    """From the moment the view has the deletion the report is left out, and soon it is dropped from the store."""
    await pipeline.send("a", *CIRCLE)
    view = pipeline.views.get("g")
    assert await pipeline.reports() and view is not None
    await pipeline.backend.ledger.accept([Record("g|a", None)])
    await eventually(lambda: _is(not view.documents))
    assert not await pipeline.reports()
    await eventually(pipeline.written)
    assert not await pipeline.backend.store.reports("g")


async def test_summarize_waits_and_loses_no_community_when_the_model_is_away(pipeline: Pipeline) -> None:
    """The run ends with Retryable; the next one writes the due reports, although nothing changes again."""
    await pipeline.send("a", *CIRCLE)
    view = pipeline.views.get("g")
    assert view is not None
    fresh = empty_view(view.indexes.chunks.dimensions)
    fresh.apply(await pipeline.backend.store.snapshot("g"))
    await pipeline.backend.store.save_reports("g", (), [row.community for row in await pipeline.reports()])
    writer = ReportWriter(pipeline.backend.store, Counting(failures=1))
    with pytest.raises(Retryable):
        await writer.write(fresh, set(fresh.entities))
    assert await writer.write(fresh, ())
    assert fresh.reports.reports(fresh)


async def test_summarize_passes_over_a_notice_it_cannot_read(pipeline: Pipeline) -> None:
    """Malformed records in `deltas` are skipped, and the reports for later ones are written."""
    await pipeline.backend.log.append(DELTAS, [Record("g", b"garbage")])
    await pipeline.send("a", *CIRCLE)
    assert await pipeline.reports()


async def test_summarize_writes_reports_although_the_burst_does_not_end(tmp_path: Path) -> None:
    """Notices come without a pause: after `longest_s` the reports are written all the same."""
    async with opened("memory", tmp_path, Clock()) as backend:
        views, seen, reporter = ViewRegistry(ExactKeeper()), Seen(), Counting()
        consolidate = ConsolidateStage(backend.log, backend.store, views.follow, seen)
        pace = DebounceSettings(quiet_s=1000.0, longest_s=0.0)
        summarize = SummarizeStage(backend.log, views, ReportWriter(backend.store, reporter), seen, pace)
        async with running(extract_stage(backend).run), running(consolidate.run), running(summarize.run):
            one = Pipeline(backend, views, reporter)
            await one.send("a", *CIRCLE)
            assert await one.reports()


async def test_reports_survive_a_restart(tmp_path: Path) -> None:
    """Reports written before the restart are served after it, and not paid for again."""
    written: list[ReportRow] = []
    for life in range(2):
        async with opened("sqlite", tmp_path, Clock()) as backend:
            views, seen, reporter = ViewRegistry(ExactKeeper()), Seen(), Counting()
            await views.open(backend.store)
            consolidate = ConsolidateStage(backend.log, backend.store, views.follow, seen)
            summarize = SummarizeStage(backend.log, views, ReportWriter(backend.store, reporter), seen, AT_ONCE)
            async with running(extract_stage(backend).run), running(consolidate.run), running(summarize.run):
                one = Pipeline(backend, views, reporter)
                await one.send("a", *CIRCLE)
                if not life:
                    written = await one.reports()
                assert await one.reports() == written and bool(reporter.asked) == (life == 0)
    assert written


async def _is(value: bool) -> bool:
    return value


async def test_summarize_leaves_a_graph_in_debt_when_its_budget_is_used_up_and_pays_later(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notices are done with, so no other graph waits; once the budget has something left, the report is written
    though nothing more is published."""
    monkeypatch.setattr("graphtide.streams.summarize.stage.POLL_INTERVAL_S", 0.02)
    pipeline.reporter.refuses = True
    await pipeline.send("a", *CIRCLE)
    assert not pipeline.reporter.asked and not await pipeline.reports()
    pipeline.reporter.refuses = False
    await eventually(lambda: _is(bool(pipeline.reporter.asked)))
    await eventually(lambda: _served(pipeline))


async def _served(pipeline: Pipeline) -> bool:
    return bool(await pipeline.reports())


async def test_wishes_of_a_query_process_reach_the_stage_by_the_log(tmp_path: Path) -> None:
    """Lazy reports: a query in another process requests some; they are published once, and written once."""
    async with opened("memory", tmp_path, Clock()) as backend:
        views, elsewhere, seen, reporter = ViewRegistry(ExactKeeper()), ViewRegistry(ExactKeeper()), Seen(), Counting()
        consolidate = ConsolidateStage(backend.log, backend.store, views.follow, seen)
        writer = ReportWriter(backend.store, reporter, ReportPolicy(lazy=True))
        summarize = SummarizeStage(backend.log, views, writer, seen, AT_ONCE)
        async with running(extract_stage(backend).run), running(consolidate.run), running(summarize.run):
            pipeline = Pipeline(backend, views, reporter)
            await pipeline.send(
                "a", *((one, "knew", other) for one in ["Ada", "Byron", "Crosse"] for other in ("Dee",))
            )
            assert not reporter.asked
            await elsewhere.open(backend.store)
            [asked] = elsewhere.all()
            shelves = Shelves(backend.store, every_s=0.0)
            await shelves.fill(asked)
            asked.reports.request(asked.hierarchy.roots())
            await shelves.fill(asked)  # another query, before any request was published
            clock = Clock()
            requests = ReportRequestPublisher(backend.log, elsewhere, now=lambda: clock() / 1000)
            assert await requests.tell() == len(asked.hierarchy.roots()) > 0
            asked.reports.request([*asked.hierarchy.roots(), 10**9])
            assert await requests.tell() == 1  # for an unknown community; the others were published
            unknown = ReportRequest("nowhere", (1,))
            await backend.log.append(DELTAS, [Record("nowhere", unknown.encode())])
            await eventually(pipeline.written)
            written = [row.community for row in await backend.store.reports("g")]
            assert written == sorted(asked.hierarchy.roots()) and len(reporter.asked) == len(written)
            await shelves.fill(asked)
            assert [row.community for row in asked.reports.reports(asked)] == written
