"""Mode `pipeline`: the article's query pipeline, each step by its own module, in its order.

Article "graph-rag-algorithms", "The End-to-End Pipeline": 1. HNSW gives seeds; 2. communities give the broad context;
3. BFS expands one hop, and PHSE further along promising relations; 4. personalised PageRank from the seeds ranks the
explored entities; 5. a Steiner tree bridges seeds that are not connected among them; 6. MMR drops repetitions.

Where the article gives no detail: passages are ranked by nearness to the question and by the walk's mass
(pair_scoring.worth), candidates being the passages of the explored entities and the nearest ones; the passages of a
bridge score as high as the best. The community's context is its kept report, which was written beforehand as in the
article, or that of the finest community above it that has a valid one; without any it is a part made of the statements
among the explored entities of the community. No report is requested: this mode reads what the summarize stage wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from graphtide.graph.retrieval.explain import seed_steps
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.global_search.reports import ReportScope, readable
from graphtide.graph.retrieval.modes import bridge
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import PipelineSettings
from graphtide.graph.retrieval.scoring.candidates import score_passages
from graphtide.graph.retrieval.scoring.mmr import mmr
from graphtide.graph.retrieval.scoring.pair_reranking import admitted_mass, relative
from graphtide.graph.retrieval.scoring.pair_scoring import Scores, worth
from graphtide.graph.retrieval.search.beam_search import BeamSettings, Visit, explore, lexical_type_weight, type_weight
from graphtide.graph.retrieval.search.bfs import BfsLimits, breadth_first
from graphtide.graph.retrieval.search.community_filter import CommunityRegion, regions
from graphtide.graph.retrieval.search.entity_graph import EntityPathGraph
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.search.steiner import SteinerTree, steiner_tree
from graphtide.graph.retrieval.search.walk_mass import WalkMass
from graphtide.graph.retrieval.seeds import Seeds, find_seeds, restart, searched_indexes
from graphtide.graph.retrieval.statements import between, listed, supporting_passages, verbalise
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    Question,
    RetrievalResult,
    RetrievedPart,
    RetrievedPassage,
    Subgraph,
    Trace,
    TraceItem,
    TraceStep,
    quoted_part,
)
from graphtide.graph.view import LiveView, walk_chunk, walk_entity


@dataclass(frozen=True, slots=True)
class Explored:
    """The results of the steps: hops by entity, the guided visits, the walk's mass, the bridge and its evidence."""

    seeds: Seeds
    starts: Mapping[int, float]
    hops: Mapping[int, int]
    visits: tuple[Visit, ...]
    mass: WalkMass
    tree: SteinerTree
    crossings: tuple[bridge.PathEdge, ...]


def retrieve_pipeline(view: LiveView, question: Question) -> RetrievalResult:
    """Return the `top_k` passages by nearness, walk and novelty; bridges and the most relevant community as parts.

    `score` is relevance before MMR, from 0 to 1 for the best candidate. Call under `view.lock.read()`. Cost: three
    searches, a walk, a bounded exploration and a bounded search for a tree: no step grows with the graph.
    """
    settings = settings_from(PipelineSettings, question.options)
    admits = admitted_chunks(view, question.filters)
    found = _explore(view, question, admits, settings)
    candidates = score_passages(view, question, _candidates(view, found, settings.explored))
    if not candidates.numbers:
        return RetrievalResult((), Subgraph(), view.version, "pipeline", Trace() if question.explain else None)
    near = found.seeds.passages
    scale = (near[-1].cosine, near[0].cosine) if near else (0.0, 1.0)
    value = worth(candidates.candidates(found.mass, scale))
    relevance = relative(_raised(value, candidates.numbers, {crossing.passage for crossing in found.crossings}))
    order = mmr(relevance, candidates.vectors, question.top_k, settings.trade_off).tolist()
    numbers = [candidates.numbers[place] for place in order]
    passages = tuple(_passage(view, candidates.numbers[place], float(relevance[place])) for place in order)
    touched = regions(view, _entity_mass(found))
    report = _kept_report(view, question, touched[:1]) if settings.reports else None
    context = (report,) if report else _community(view, touched[:1], admits, settings.relations)
    parts = (*_bridges(view, found), *context)
    trace = _trace(view, found, touched, passages, report) if question.explain else None
    return RetrievalResult(
        passages, supported_subgraph(view, numbers, found.mass), view.version, "pipeline", trace, parts
    )


def _explore(view: LiveView, question: Question, admits: ChunkPredicate | None, settings: PipelineSettings) -> Explored:
    """Run steps 1, 3, 4 and 5."""
    depth = max(settings.near, question.top_k)
    seeds = find_seeds(view, question.vector, admits, depth, searched_indexes(view, question))
    starts = {hit.number: hit.cosine for hit in seeds.entities}
    for hit in seeds.statements:
        for node in view.ends(hit.number):
            starts[node] = max(starts.get(node, 0.0), hit.cosine)
    hops = breadth_first(view, starts, BfsLimits(settings.hops, settings.degree, settings.size), admits)
    guide = BeamSettings(settings.beam, settings.threshold, settings.visits)
    weigh = type_weight(dict(settings.multipliers), lexical_type_weight(question.text, settings.shared_word))
    visits = explore(view, question.vector, starts, weigh, guide, admits)
    mass = admitted_mass(personalised_pagerank(view.walk, restart(view, seeds), settings.restart), admits)
    ends = [hit.number for hit in seeds.entities[: settings.bridged]]
    tree, crossings = SteinerTree((), (), 0, 0, True), list[bridge.PathEdge]()
    if not _connected(view, ends, {*hops, *(visit.node for visit in visits)}):
        tree = steiner_tree(EntityPathGraph(view, ends, admits), ends, view.entity_id, bridge.BOUNDS)
        found = (bridge.edge_evidence(view, question, pair, admits) for pair in tree.edges())
        crossings = [each for each in found if each is not None]
    return Explored(seeds, starts, hops, visits, mass, tree, tuple(crossings))


def _connected(view: LiveView, ends: list[int], explored: set[int]) -> bool:
    """Return whether relations among the explored entities connect all of the ends."""
    if len(ends) < 2:
        return True
    seen, frontier = {ends[0]}, [ends[0]]
    while frontier:
        edges = view.neighbours.get(frontier.pop(), {})
        fresh = [other for other in explored if other in edges and other not in seen]
        seen.update(fresh)
        frontier += fresh
    return seen.issuperset(ends)


def _candidates(view: LiveView, found: Explored, count: int) -> set[int]:
    """Return the nearest passages, those of bridges, and of the explored entities' passages the walk's best."""
    explored = {*found.hops, *(visit.node for visit in found.visits)}
    walked = sorted(
        (-share, view.chunks[node // 2].chunk_id, node // 2) for node, share in found.mass.items() if node % 2
    )
    theirs = (
        number
        for _, _, number in walked
        if any(view.labels[label].node in explored for label in view.chunks[number].mentions.labels)
    )
    best = set(islice(theirs, count))
    return best | {hit.number for hit in found.seeds.passages} | {crossing.passage for crossing in found.crossings}


def _raised(worth: Scores, numbers: Iterable[int], bridging: set[int]) -> Scores:
    """Return the scores with the passages of a bridge raised to the best score."""
    chosen = np.array([number in bridging for number in numbers])
    raised: Scores = np.where(chosen, worth.max(initial=0.0), worth)
    return raised


def _entity_mass(found: Explored) -> dict[int, float]:
    return {node: found.mass.get(walk_entity(node), 0.0) for node in found.hops}


def _bridges(view: LiveView, found: Explored) -> tuple[RetrievedPart, ...]:
    if not found.crossings:
        return ()
    return tuple(part for part in bridge.render(view, found.tree, list(found.crossings), bridge.BOUNDS) if part.sources)


def _kept_report(view: LiveView, question: Question, touched: Iterable[CommunityRegion]) -> RetrievedPart | None:
    """Return the report of the finest community around the question that has a valid one within the filters."""
    scope = ReportScope.of(view, question.filters)
    for region in touched:
        community = region.community
        while community:
            if view.reports.is_valid(view, community) and (found := readable(view, community, scope)):
                return found.part
            community = view.hierarchy.parent(community)
    return None


def _community(
    view: LiveView, touched: Iterable[CommunityRegion], admits: ChunkPredicate | None, limit: int
) -> tuple[RetrievedPart, ...]:
    """Return the broad context: the statements among the explored entities of the question's main community."""
    parts = []
    for region in touched:
        lines, sources = list[str](), list[str]()
        for place, member in enumerate(region.entities):
            for other in region.entities[place + 1 :]:
                if len(lines) < limit and other in view.neighbours.get(member, ()):
                    for number in between(view, member, other, admits)[:1]:
                        chunk = supporting_passages(view, number, admits)[0]
                        sources.append(view.chunks[chunk].chunk_id)
                        lines.append(f"{verbalise(view, number)} [{sources[-1]}]")
        if lines:
            names = listed([view.entities[node].name for node in region.entities[:5]])
            parts.append(quoted_part(f"The community of {names}", "\n".join(lines), tuple(dict.fromkeys(sources)), 0.0))
    return tuple(parts)


def _passage(view: LiveView, number: int, score: float) -> RetrievedPassage:
    chunk = view.chunks[number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, score, chunk.text)


def _trace(
    view: LiveView,
    found: Explored,
    touched: tuple[CommunityRegion, ...],
    passages: tuple[RetrievedPassage, ...],
    report: RetrievedPart | None,
) -> Trace:
    def named(node: int, score: float, **parts: float) -> TraceItem:
        return TraceItem(view.entity_id(node), view.entities[node].name, score, tuple(parts.items()))

    shown = [named(region.entities[0], region.share, explored=float(len(region.entities))) for region in touched[:10]]
    read = (TraceItem("", report.title, report.score),) if report else ()
    hops = [named(node, float(hop)) for node, hop in found.hops.items()][:40]
    visits = [named(visit.node, visit.priority) for visit in found.visits[:40]]
    ranked = sorted(_entity_mass(found).items(), key=lambda row: (-row[1], view.entity_id(row[0])))
    mass = [named(node, share) for node, share in ranked[:10]]
    tree = [
        TraceItem(view.chunks[crossing.passage].chunk_id, verbalise(view, crossing.statement), 1.0)
        for crossing in found.crossings
    ]
    final = [
        TraceItem(passage.chunk_id, "", passage.score, (("walk", _mass_of(view, found, passage)),))
        for passage in passages
    ]
    return Trace(
        (
            *seed_steps(view, found.seeds),
            TraceStep("communities", "Communities of the explored entities, by the walk's mass in them.", tuple(shown)),
            TraceStep("report", "The kept report of the first community, or of one above it.", read),
            TraceStep("breadth first", "Entities within one hop of the seeds.", tuple(hops)),
            TraceStep(
                "priority-guided",
                "Entities by nearness times the weight of the relation that leads there.",
                tuple(visits),
            ),
            TraceStep("personalised PageRank", "Explored entities by the walk's stationary mass.", tuple(mass)),
            TraceStep("bridge", "The connection of the first seeds that the exploration did not connect.", tuple(tree)),
            TraceStep("passages", "Passages by nearness and walk, and by maximal marginal relevance.", tuple(final)),
        )
    )


def _mass_of(view: LiveView, found: Explored, passage: RetrievedPassage) -> float:
    return found.mass.get(walk_chunk(view.chunk_numbers[passage.chunk_id]), 0.0)
