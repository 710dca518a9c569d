"""The global modes and the selection along the hierarchy, compared with loops over all communities."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta, Vector
from graphtide.graph.reports.rows import ReportRow
from graphtide.graph.reports.subject import MIN_SIZE, community_context, extractive_report, members, row
from graphtide.graph.retrieval.global_search.dynamic import Selection, by_neighbourhood, neighbourhood_ranks
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.options.table import read_options
from graphtide.graph.retrieval.types import Filters, Question, RetrievalResult, Synthesis
from graphtide.graph.view import LiveView
from tests.model.memory.rows import Rows
from tests.support.extractions import unit
from tests.support.sample_view import sample_view
from tests.support.worlds import RandomWorld, empty_view


def ask(view: LiveView, text: str, mode: str, **fields: object) -> Question:
    """Return a question with the vector of some passage, so that some passage is near."""
    vector = np.asarray(view.chunks[min(view.chunks)].vector, np.float32)
    return replace(Question(text, vector, mode=mode), **fields)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def sample() -> LiveView:
    """Return the bundled sample, with communities; tests change only the requests of its report cache."""
    return sample_view()


def levels(view: LiveView) -> dict[int, list[int]]:
    """Return every community by level."""
    tree = view.hierarchy.hierarchy()
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for community, level in zip(tree.ids.tolist(), tree.levels.tolist(), strict=True):
        found[level].append(community)
    return found


def slow_report(view: LiveView, community: int) -> tuple[str, tuple[str, ...]]:
    """Return title and sources of a community's report."""
    report = extractive_report(community_context(view, community))
    return report.title, tuple(dict.fromkeys(chunk for one in report.findings for chunk in one.chunks))


def slow_reach(view: LiveView, question: Question) -> set[int]:
    """Return the communities of an entity near the question, or mentioned by a passage near it."""

    def similarity(vector: Vector) -> float:
        return float(vector.astype(float) @ question.vector / (np.linalg.norm(vector.astype(float)) or 1))

    near = sorted(view.chunks, key=lambda n: (-similarity(view.chunks[n].vector), view.chunks[n].chunk_id))[:80]
    nodes = {view.labels[mention.label].node for n in near for mention in view.chunks[n].mentions}
    entities = view.entities
    nodes.update(sorted(entities, key=lambda n: (-similarity(entities[n].vector), view.entity_id(n)))[:40])
    return {view.hierarchy.community(node, level) for node in nodes for level in range(3)} - {0}


def slow_selection(view: LiveView, rates: Mapping[int, int], level: int, reach: set[int] | None = None) -> set[int]:
    """Return the selection by its definition: relevant with all its ancestors, and without a relevant descendant.

    A community without a report is passed through, as if it were relevant, and not selected. `reach` are the
    communities that the question reaches, if not all.
    """

    def large(community: int) -> bool:
        return len(list(members(view, community))) >= MIN_SIZE

    def readable(community: int) -> bool:
        return large(community) and bool(slow_report(view, community)[1])

    def reached(community: int) -> bool:
        parent = view.hierarchy.parent(community)
        near = reach is None or community in reach
        open_ = near and large(community) and (rates[community] > 0 or not readable(community))
        return open_ and (not parent or reached(parent))

    def above(community: int) -> set[int]:
        parent = view.hierarchy.parent(community)
        return {parent} | above(parent) if parent else set()

    found = {c for at, some in levels(view).items() if at >= level for c in some if reached(c) and readable(c)}
    return found - {c for one in found for c in above(one)}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_global_hands_out_every_report_of_its_level(sample: LiveView, level: int) -> None:
    """There is one part for each community of the level that has a report, or for the finest above it that has one."""
    found = retrieve(sample, ask(sample, "What is known of Ida Moreau?", "global", level=level))
    everything = {c: 1 for some in levels(sample).values() for c in some}
    expected = [slow_report(sample, c) for c in slow_selection(sample, everything, level)]
    assert sorted((part.title, part.sources) for part in found.parts) == sorted(expected)
    assert found.synthesis is Synthesis.BY_PART and expected
    scores = [part.score for part in found.parts]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("level", [0, 1])
def test_selection_keeps_what_its_definition_keeps_for_any_ratings(sample: LiveView, seed: int, level: int) -> None:
    """With random ratings the parts are those of the relevant communities whose children are not relevant."""
    print("seed", seed)
    rng = random.Random(seed)
    rates = {c: rng.choice((0, 0, 1, 3, 5)) for some in levels(sample).values() for c in some}
    question = ask(sample, "storm", "global-dynamic", level=level)
    selection = Selection(question)
    asked = selection.begin(sample)
    rated: list[int] = []
    while asked:
        rated += [one.community for one in asked]
        asked = selection.rate(sample, [rates[one.community] for one in asked])
    reach = slow_reach(sample, question)
    assert set(rated) <= reach
    kept = slow_selection(sample, rates, level, reach)
    found = selection.finish(sample)
    assert sorted((part.title, part.sources) for part in found.parts) == sorted(
        slow_report(sample, community) for community in kept
    )
    assert len(rated) == len(set(rated))
    below_nothing = {c for c in rated if rates[c] == 0}
    assert not any(sample.hierarchy.parent(c) in below_nothing for c in rated)


def test_dynamic_mode_is_the_selection_rated_by_neighbourhood(sample: LiveView) -> None:
    """It reads less than the static level, and each selected community has one of the nearest passages or entities."""
    question = ask(sample, "Who founded Kittiwake Station?", "global-dynamic")
    found = retrieve(sample, question)
    rating = by_neighbourhood(neighbourhood_ranks(sample, question))
    rates = {c: rating(c) for some in levels(sample).values() for c in some}
    assert {c for c, rate in rates.items() if rate} == slow_reach(sample, question)
    assert sorted(part.sources for part in found.parts) == sorted(
        slow_report(sample, c)[1] for c in slow_selection(sample, rates, 1)
    )
    assert {part.score for part in found.parts} <= {1.0, 2.0, 3.0, 4.0, 5.0}


def test_question_about_everything_has_every_root_rated_and_another_only_those_it_reaches() -> None:
    """In a graph of many components a particular question reaches a few roots; each is rated by its whole report."""
    view = empty_view()
    documents = [_component(number) for number in range(120)]
    view.apply(Consolidator("world").apply([DocumentChange(one.doc_id, None, one) for one in documents]))
    everything = Selection(ask(view, "What are the main themes?", "global-dynamic")).begin(view)
    rated = Selection(ask(view, "storm", "global-dynamic")).begin(view)
    assert len(everything) == 120
    assert 0 < len(rated) < 120
    assert {one.community for one in rated} <= slow_reach(view, ask(view, "storm", "global-dynamic"))
    assert all(one.text == f"{one.part.title}\n{one.part.text}" for one in rated)


def _component(number: int) -> Extraction:
    """Return a document about three names of its own."""
    names = [sha256(f"{number} {place}".encode()).hexdigest()[:12] for place in range(3)]
    facts = [(0, "designed", 1), (1, "designed", 2), (2, "designed", 0)]
    passage = unit(f"Passage of {' and '.join(names)}.", [(name, "", "") for name in names], facts)
    return Extraction(f"d{number}", 1, DocumentInfo(), (passage,))


def test_question_about_everything_prunes_nothing(sample: LiveView) -> None:
    """No community is near to "all of it": both modes return the same reports."""
    both = [
        retrieve(sample, ask(sample, "What are the main themes?", mode)).parts for mode in ("global", "global-dynamic")
    ]
    assert sorted(part.sources for part in both[0]) == sorted(part.sources for part in both[1])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["global", "global-dynamic"])
@pytest.mark.parametrize("seed", range(4))
def test_result_is_unchanged_when_communities_are_called_otherwise(mode: str, seed: int) -> None:
    """With other ids of the same communities, parts, passages and scores are the same to the last bit."""
    print("seed", seed)
    world, rows = RandomWorld(random.Random(seed), documents=30), Rows("world")
    for _ in range(30):
        rows.apply(world.step())
    one, other = empty_view(), empty_view()
    one.apply(rows.snapshot())
    other.apply(_renamed(rows.snapshot(), random.Random(seed)))
    for text in ("What are the main themes?", "alpha"):
        first, second = retrieve(one, ask(one, text, mode, level=0)), retrieve(other, ask(other, text, mode, level=0))
        assert (first.parts, first.passages, first.trace) == (second.parts, second.passages, second.trace)


def _renamed(snapshot: GraphDelta, rng: random.Random) -> GraphDelta:
    """Return the same graph, its communities under other ids."""
    tree = snapshot.communities
    assert isinstance(tree, Hierarchy)
    fresh = rng.sample(range(1, 10 * len(tree.ids) + 10), len(tree.ids))
    names = dict(zip(tree.ids.tolist(), fresh, strict=True)) | {0: 0}
    order = np.argsort(fresh)
    parents = np.array([names[parent] for parent in tree.parents.tolist()], np.int64)
    return replace(
        snapshot,
        communities=Hierarchy(
            tree.nodes,
            np.array([names[community] for community in tree.communities.tolist()], np.int64),
            np.array(fresh, np.int64)[order],
            tree.levels[order],
            parents[order],
            max(fresh, default=0) + 1,
        ),
    )


@pytest.mark.thorough
def test_selection_goes_on_when_the_graph_changes_between_two_ratings() -> None:
    """Communities removed during the ratings are dropped; the result is of the version at the end."""
    for seed in range(6):
        print("seed", seed)
        world, view = RandomWorld(random.Random(seed), documents=20), empty_view()
        for _ in range(25):
            view.apply(world.step())
        selection = Selection(ask(view, "alpha beta", "global-dynamic", level=0))
        asked = selection.begin(view)
        while asked:
            view.apply(world.step())
            asked = selection.rate(view, [5] * len(asked))
        for doc_id in list(world.live)[1:]:
            view.apply(world.change(doc_id))
        found = selection.finish(view)
        assert found.version == view.version
        assert {chunk for part in found.parts for chunk in part.sources} <= view.chunk_numbers.keys()


def test_filter_reaches_what_a_report_does_not_show(sample: LiveView) -> None:
    """A document that no coarse report cites is still found through the finer reports, and no other is cited."""
    for doc_id in ("petrel-network", "solveig-berg", "harrow-works"):
        question = ask(
            sample, "What are the main themes?", "global-dynamic", filters=Filters(doc_ids=(doc_id,)), level=0
        )
        found: RetrievalResult = retrieve(sample, question)
        assert {passage.doc_id for passage in found.passages} == {doc_id}
        assert all(sample.chunks[sample.chunk_numbers[c]].doc_id == doc_id for p in found.parts for c in p.sources)


def test_held_report_is_read_until_its_community_changes_and_is_wished_for_then() -> None:
    """A cached report replaces the extractive one; a stale one is not shown, and a new one is requested."""
    view = sample_view()
    community = max(levels(view)[1], key=view.contents.entities)
    written = row(
        community_context(view, community), extractive_report(community_context(view, community)), view.version
    )
    view.reports.put(view, [replace(written, title="Written by hand")])
    question = ask(view, "What are the main themes?", "global")
    assert "Written by hand" in {part.title for part in retrieve(view, question).parts}
    assert community not in view.reports.drain_requested()
    view.reports.put(view, [replace(written, title="Written by hand", fingerprint="")])
    assert "Written by hand" not in {part.title for part in retrieve(view, question).parts}
    assert community in view.reports.drain_requested()


def test_pipeline_reads_the_kept_report_of_the_finest_community_that_has_one() -> None:
    """The report replaces the list of statements while it is valid; no report is requested; the option omits it."""
    view = _two_periods()
    question = ask(view, "Who knew Byron?", "pipeline")
    before = retrieve(view, question)
    chain = _ancestors(view, view.hierarchy.community(named(view, "Byron")))
    findings = extractive_report(community_context(view, chain[-1])).findings
    assert findings
    for community in reversed(chain):
        about = community_context(view, community)
        report = replace(extractive_report(about), title=f"Written of {community}", findings=findings)
        view.reports.put(view, [row(about, report, view.version)])
        [part] = retrieve(view, question).parts
        assert part.title == f"Written of {community}"
        assert part.sources == tuple(view.chunk_numbers)
    plain = retrieve(view, replace(question, options=read_options("pipeline", {"reports": False})))
    assert plain == before
    view.reports.retire(chain)
    assert retrieve(view, question) == before
    assert not view.reports.has_requests()


def named(view: LiveView, name: str) -> int:
    return next(node for node, entity in view.entities.items() if entity.name == name)


def _ancestors(view: LiveView, community: int) -> list[int]:
    """Return a community and those above it, the finest first."""
    return [community, *_ancestors(view, view.hierarchy.parent(community))] if community else []


@pytest.mark.parametrize("level", [-1, 3])
def test_level_that_there_is_not_is_refused(sample: LiveView, level: int) -> None:
    """The message names the available levels."""
    for mode in ("global", "global-dynamic"):
        with pytest.raises(ValueError, match="0 to 2"):
            retrieve(sample, ask(sample, "storm", mode, level=level))


@pytest.mark.parametrize("written", [False, True], ids=["quoted", "reported"])
@pytest.mark.parametrize("mode", ["global", "global-dynamic"])
def test_report_is_read_as_of_a_moment_without_the_findings_that_did_not_hold(mode: str, written: bool) -> None:
    """One passage has statements of the thirties and of the fifties: as of each time only its own are shown, and a
    summary, which covers both, is not shown for any moment.
    """
    view = _two_periods()
    if written:
        view.reports.put(view, [_reported(view, one) for one in view.hierarchy.hierarchy().ids.tolist()])

    def themes_as_of(as_of: str) -> str:
        found = retrieve(view, ask(view, "What are the main themes?", mode, filters=Filters(as_of=as_of)))
        return "\n".join(part.text for part in found.parts)

    early, late, ever = themes_as_of("1835"), themes_as_of("1855"), themes_as_of("")
    assert "knew" in early and "built" not in early and "built" in late and "knew" not in late
    assert "knew" in ever and "built" in ever
    assert ("Of both" in ever) == written and "Of both" not in early + late
    assert themes_as_of("1900") == ""


def _two_periods() -> LiveView:
    """Return three people who `knew` each other from 1830 to 1840 and `built` each other from 1850 to 1860."""
    places = ((0, 1), (1, 2), (0, 2))
    stated = [(a, predicate, b) for predicate in ("knew", "built") for a, b in places]
    whole = unit("Of Ada, Byron and Menabrea.", [(name, "", "") for name in ("Ada", "Byron", "Menabrea")], stated)
    times = {"knew": ("1830", "1840"), "built": ("1850", "1860")}
    facts = tuple(
        replace(fact, valid_from=times[fact.predicate][0], valid_to=times[fact.predicate][1]) for fact in whole.facts
    )
    writer, view = Consolidator("world"), empty_view()
    new = Extraction("d", 1, DocumentInfo(), (replace(whole, facts=facts),))
    view.apply(writer.apply([DocumentChange("d", None, new)]))
    return view


def _reported(view: LiveView, community: int) -> ReportRow:
    about = community_context(view, community)
    return row(about, replace(extractive_report(about), summary="Of both times."), view.version)
