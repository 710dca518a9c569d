"""Mode `bridge`: how the entities that a question names are related, by the cheapest tree that connects them.

Article "graph-rag-algorithms", "Steiner Tree": the entities of the question are the terminals; a passage states every
edge of the tree and comes with it (existence, evidence); the text contains nothing beyond the tree (minimality). If no
path is cheap enough, the answer says so. Deviation: entities are linked by the spellings in the graph, and only a
question that names fewer than two uses the nearest by vector.

`parts` hold the trees. `passages` begin with the evidence, in the order of the paths, and continue by similarity.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from graphtide.graph.retrieval.entity_linking import link_entities
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import BridgeSettings
from graphtide.graph.retrieval.scoring.candidates import NEAR, ScoredPassages, score_passages
from graphtide.graph.retrieval.search.entity_graph import UNIT, EntityPathGraph
from graphtide.graph.retrieval.search.steiner import SearchLimits, SteinerTree, steiner_tree
from graphtide.graph.retrieval.seeds import ENTITIES, nearest, nearest_passages, searched_indexes
from graphtide.graph.retrieval.statements import between, listed, supporting_passages, verbalise
from graphtide.graph.retrieval.subgraph import supported_subgraph
from graphtide.graph.retrieval.types import (
    Question,
    RetrievalResult,
    RetrievedPart,
    RetrievedPassage,
    Trace,
    TraceItem,
    TraceStep,
    quoted_part,
)
from graphtide.graph.view import LiveView, walk_entity

BOUNDS = SearchLimits(longest=round(BridgeSettings().cost * UNIT), budget=BridgeSettings().links)
"""The limits of a search without options, and of those of other modes."""


@dataclass(frozen=True, slots=True)
class PathEdge:
    """One edge of a tree with the statement that supports it, and the passage that states it."""

    ends: tuple[int, int]
    statement: int
    passage: int


def retrieve_bridge(view: LiveView, question: Question, bounds: SearchLimits | None = None) -> RetrievalResult:
    """Return the tree that connects the question's entities as text, and `top_k` passages, its evidence first.

    A passage's `score` is its cosine, and 1 more when it is evidence. Call under `view.lock.read()`. Cost: two
    searches, and `links` links (BridgeSettings), however large the graph.
    """
    settings = settings_from(BridgeSettings, question.options)
    bounds = bounds or SearchLimits(round(settings.cost * UNIT), settings.links)
    admits = admitted_chunks(view, question.filters)
    near = nearest_passages(view, question.vector, admits, max(NEAR, question.top_k), searched_indexes(view, question))
    terminals, how = choose_terminals(view, question, admits, settings.terminals)
    tree = steiner_tree(EntityPathGraph(view, terminals, admits), terminals, view.entity_id, bounds)
    crossings = [crossing for ends in tree.edges() if (crossing := edge_evidence(view, question, ends, admits))]
    found = score_passages(view, question, {hit.number for hit in near}.union(edge.passage for edge in crossings))
    evidence = list(dict.fromkeys(crossing.passage for crossing in crossings))
    passages = _ranked(view, found, evidence, question.top_k)
    on_tree = {walk_entity(node): 1.0 for ends in tree.edges() for node in ends}
    shown = supported_subgraph(view, [view.chunk_numbers[passage.chunk_id] for passage in passages], on_tree)
    parts = render(view, tree, crossings, bounds)
    trace = _trace(view, terminals, how, tree, crossings) if question.explain else None
    return RetrievalResult(passages, shown, view.version, "bridge", trace, parts)


def choose_terminals(
    view: LiveView, question: Question, admits: ChunkPredicate | None, limit: int
) -> tuple[list[int], str]:
    """Return at most `limit` entities to connect, in the question's order, and how they were found.

    Proper names precede common words that are also an entity's name; those count only if there are fewer than two
    proper names. The nearest entities by vector are added only if there are still fewer than two.
    """
    found = link_entities(view, question.text, admits)
    proper = [entity.node for entity in found if entity.proper]
    named = proper if len(proper) >= 2 else [entity.node for entity in found]
    if len(named) >= 2:
        return named[:limit], "Entities that the question names."
    allowed = None if admits is None else lambda node: any(map(admits, view.entities[node].chunks))
    index = searched_indexes(view, question).entities
    hits = nearest(index, question.vector, ENTITIES, view.entity_id, allowed)
    filled = list(dict.fromkeys([*named, *(hit.number for hit in hits)]))[:2]
    return filled, "The question names fewer than two entities: the nearest entities are added."


def edge_evidence(
    view: LiveView, question: Question, ends: tuple[int, int], admits: ChunkPredicate | None
) -> PathEdge | None:
    """Return the statement that supports an edge, by weight and then name, and its passage nearest to the question."""
    statements = between(view, *ends, admits)
    if not statements:
        return None
    found = score_passages(view, question, supporting_passages(view, statements[0], admits))
    if not found.numbers:
        return None
    return PathEdge(ends, statements[0], found.numbers[int(found.cosine.argmax())])


def render(
    view: LiveView, tree: SteinerTree, crossings: list[PathEdge], bounds: SearchLimits
) -> tuple[RetrievedPart, ...]:
    """Return the connections found, and the entities not connected, as text that an answer can cite."""
    by_ends = {frozenset(crossing.ends): crossing for crossing in crossings}
    parts = []
    for group in tree.groups:
        paths = [path for path in tree.paths if path[0] in group]
        steps = (frozenset(pair) for path in paths for pair in pairwise(path))
        path_edges = [by_ends[ends] for ends in steps if ends in by_ends]
        path_edges = list({crossing.ends: crossing for crossing in path_edges}.values())
        if path_edges:
            lines = [f"{verbalise(view, edge.statement)} [{view.chunks[edge.passage].chunk_id}]" for edge in path_edges]
            sources = tuple(dict.fromkeys(view.chunks[edge.passage].chunk_id for edge in path_edges))
            parts.append(
                quoted_part(f"How {_names(view, group)} are related", "\n".join(lines), sources, 1 / len(path_edges))
            )
    if len(tree.groups) > 1:
        parts.append(quoted_part(_apart(view, tree), _why_apart(tree, bounds), (), 0.0))
    return tuple(parts)


def _apart(view: LiveView, tree: SteinerTree) -> str:
    groups = "; ".join(_names(view, group) for group in tree.groups)
    return f"No connection was found between: {groups}"


def _why_apart(tree: SteinerTree, bounds: SearchLimits) -> str:
    if tree.complete:
        cost = f"{bounds.longest / UNIT:g}"
        return (
            f"No chain of stated relations connects them at a cost of {cost} or less: the graph does not relate them."
        )
    return f"The search ended after {tree.read:,} links with some left unread: whether they are related is not known."


def _names(view: LiveView, nodes: tuple[int, ...]) -> str:
    return listed([view.entities[node].name for node in nodes])


def _ranked(view: LiveView, found: ScoredPassages, evidence: list[int], count: int) -> tuple[RetrievedPassage, ...]:
    cosine = dict(zip(found.numbers, found.cosine.tolist(), strict=True))
    rest = sorted(found.numbers, key=lambda number: -cosine[number])  # stable: the numbers are in the order of names
    order = [*evidence, *(number for number in rest if number not in evidence)]
    return tuple(
        RetrievedPassage(chunk.chunk_id, chunk.doc_id, cosine[number] + (number in evidence), chunk.text)
        for number in order[:count]
        for chunk in (view.chunks[number],)
    )


def _trace(view: LiveView, terminals: list[int], how: str, tree: SteinerTree, crossings: list[PathEdge]) -> Trace:
    named = tuple(TraceItem(view.entity_id(node), view.entities[node].name, 1.0) for node in terminals)
    edges = tuple(
        TraceItem(view.chunks[edge.passage].chunk_id, verbalise(view, edge.statement), 1.0, ()) for edge in crossings
    )
    about = f"The cheapest tree, cost {tree.cost / UNIT:.2f}, {tree.read} links read; each edge with its passage."
    return Trace((TraceStep("terminals", how, named), TraceStep("tree", about, edges)))
