"""The report writer: when a report is due, and that no outdated one is shown, stored or paid for."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from graphtide.graph.communities import HierarchyReplica
from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.reports.subject import (
    CHILDREN,
    MIN_SIZE,
    CommunityContext,
    Report,
    community_context,
    extractive_report,
    members,
)
from graphtide.graph.view import LiveView
from graphtide.streams.summarize.report_writer import ReportPolicy, ReportWriter, Shelves
from tests.model.memory.ledger import MemoryLedger
from tests.model.memory.log import MemoryLog
from tests.model.memory.rows import Rows
from tests.model.memory.store import MemoryGraphStore
from tests.support.extractions import unit
from tests.support.worlds import RandomWorld, empty_view


@dataclass
class Counting:
    """A Reporter that quotes, and remembers what it was asked for."""

    asked: list[CommunityContext] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "counting"

    async def report(self, subject: CommunityContext) -> Report:
        self.asked.append(subject)
        return extractive_report(subject)


class Reported:
    """A graph that changes at random, a store, and who writes its reports."""

    def __init__(self, seed: int, due: ReportPolicy | None = None, documents: int = 12) -> None:
        self.world = RandomWorld(random.Random(seed), documents)
        self.view = empty_view()
        log = MemoryLog(1, lambda: 0)
        self.store = MemoryGraphStore(log, MemoryLedger(log, lambda: 0))
        self.reporter = Counting()
        self.writer = ReportWriter(self.store, self.reporter, due)

    def step(self) -> None:
        self.view.apply(self.world.step())

    async def write(self) -> int:
        return await self.writer.write(self.view, ())


def holds(view: LiveView) -> None:
    """No report that is shown cites what is gone, is of a community that is gone, or is out of date."""
    for row in view.reports.reports(view):
        assert all(source in view.chunk_numbers for source in row.sources)
        assert view.contents.entities(row.community) > 0
        assert view.reports.changed(view, row.community) <= view.reports.tolerance


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
async def test_reports_hold_after_every_delta_and_are_all_there_after_every_write(seed: int) -> None:
    """Inserts, edits, deletions: between writes nothing stale is shown; after one, what is worth a report has it."""
    print("seed", seed)
    one = Reported(seed)
    for _ in range(25):
        for _ in range(one.world.rng.choice((1, 1, 3))):
            one.step()
            holds(one.view)
        await one.write()
        worth = {c for c in one.view.hierarchy.hierarchy().ids.tolist() if one.view.contents.entities(c) >= MIN_SIZE}
        assert {row.community for row in one.view.reports.reports(one.view)} == worth
        assert {row.community for row in await one.store.reports("world")} == worth
        assert await one.write() == 0


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
async def test_reports_of_a_view_that_was_opened_again_are_the_same_and_cost_nothing(seed: int) -> None:
    """A restart: the stored reports are loaded into the cache of a view built from the graph's rows."""
    print("seed", seed)
    one, rows = Reported(seed), Rows("world")
    for _ in range(15):
        delta = one.world.step()
        one.view.apply(delta)
        rows.apply(delta)
    await one.write()
    again = empty_view()
    again.apply(rows.snapshot())
    reporter = Counting()
    assert await ReportWriter(one.store, reporter).write(again, ()) == 0
    assert not reporter.asked
    assert again.reports.reports(again) == one.view.reports.reports(one.view)


async def test_first_write_copies_no_hierarchy(monkeypatch: pytest.MonkeyPatch) -> None:
    """All communities of a view are checked then, under its write lock: a sorted copy would take long."""
    one = Reported(3)
    for _ in range(15):
        one.view.apply(one.world.step())
    expected = one.view.hierarchy.hierarchy().ids.tolist()
    monkeypatch.delattr(HierarchyReplica, "hierarchy")
    assert sorted(one.view.hierarchy) == expected
    assert await one.write()


@pytest.mark.thorough
async def test_report_is_written_anew_from_the_share_of_change_that_is_set() -> None:
    """The more may change, the fewer are written; at nothing, each change is worth one; at all, only what is lost."""
    written = []
    for min_change in (0.0, 0.2, 1.0):
        one = Reported(5, ReportPolicy(min_change=min_change), documents=40)
        for _ in range(40):
            one.step()
        await one.write()
        before = len(one.reporter.asked)
        for _ in range(15):
            one.step()
            await one.write()
            holds(one.view)
        written.append(len(one.reporter.asked) - before)
    print(written)
    assert written[0] >= written[1] >= written[2] and written[0] > written[2]


async def test_lazy_reports_are_written_once_a_question_would_have_read_them() -> None:
    """None at first; those that were wished for, at the next write; and these are kept true from then on."""
    one = Reported(3, ReportPolicy(lazy=True))
    for _ in range(12):
        one.step()
    assert await one.write() == 0
    worth = [c for c in one.view.hierarchy.hierarchy().ids.tolist() if one.view.contents.entities(c) >= MIN_SIZE]
    one.view.reports.request(worth[:1])
    assert one.view.reports.has_requests()
    assert await one.write() == 1
    assert [row.community for row in one.view.reports.reports(one.view)] == worth[:1]
    assert not one.view.reports.has_requests() and await one.write() == 0


async def test_parent_reads_the_reports_of_its_children_where_it_is_too_large_to_be_read_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many groups of entities, one name apart: what is shown stays bounded, and what is large rests on its parts."""
    monkeypatch.setattr("graphtide.graph.reports.subject.WHOLE", 5)
    one = Reported(0)
    for group in range(24):
        one.view.apply(one.world.change(_group(group, (group + 1) % 24)))
    await one.write()
    large = [asked for asked in one.reporter.asked if asked.size > 5 and asked.level > 0]
    assert large
    titles = {row.title for row in one.view.reports.reports(one.view)}
    for asked in large:
        assert asked.findings and len(asked.children) <= CHILDREN
        assert {child.title for child in asked.children if child.size >= MIN_SIZE} <= titles
        assert extractive_report(asked).findings
    assert all(len(asked.findings) <= 10 and len(asked.entities) <= 10 for asked in one.reporter.asked)


def _group(number: int, following: int) -> Extraction:
    """Six entities that all know each other, and one of them knows one of the next group."""
    names = [f"Group{number} Member{n}" for n in range(6)] + [f"Group{following} Member0"]
    pairs = [(a, "knows", b) for a in range(6) for b in range(a + 1, 6)]
    passage = unit(f"About group {number}.", [(name, "", "") for name in names], [*pairs, (0, "met", 6)])
    return Extraction(f"d{number}", 1, DocumentInfo(), (passage,))


async def test_shelf_of_another_process_follows_the_store() -> None:
    """A replica reads the rows again when they are older than `every_s`; reports that do not hold are not shown."""
    one = Reported(7)
    replica = empty_view()
    shelves = Shelves(one.store, every_s=0.0)
    for _ in range(15):
        delta = one.world.step()
        one.view.apply(delta)
        replica.apply(delta)
        await one.write()
        await shelves.fill(replica)
        holds(replica)
        assert replica.reports.reports(replica) == one.view.reports.reports(one.view)


@pytest.mark.parametrize("seed", range(3))
def test_subject_reads_what_its_community_states_and_nothing_else(seed: int) -> None:
    """Findings of a small community are statements between its members, each with chunks that make it."""
    print("seed", seed)
    one = Reported(seed)
    for _ in range(20):
        one.step()
    view = one.view
    for community in view.hierarchy.hierarchy().ids.tolist():
        read, inside = community_context(view, community, limit=1000), set(members(view, community))
        assert read.size == len(inside)
        stated = {
            f"{view.entities[view.ends(n)[0]].name} {row.predicate} {view.entities[view.ends(n)[1]].name}": row.count
            for n, row in view.statements.items()
            if set(view.ends(n)) <= inside and len(set(view.ends(n))) == 2
        }
        if not read.children:
            assert {finding.text for finding in read.findings} == set(stated)
        for finding in read.findings:
            assert finding.chunk_id in view.chunk_numbers and finding.chunks[0] == finding.chunk_id
