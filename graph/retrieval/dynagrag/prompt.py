"""The hard prompt: a subgraph as an outline for a language model (section 3.4).

It contains neither the question nor an instruction: the answer stage adds both. Invariant: every line is supported by
passages that the filter admits, and their ids are the part's sources.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.graph.retrieval.dynagrag.embedding import DECIMALS
from graphtide.graph.retrieval.dynagrag.pruning import Pruned
from graphtide.graph.retrieval.dynagrag.traversal import CENTRE, TraversalTree
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.types import RetrievedPart, quoted_part
from graphtide.graph.view import LiveView

ENTITIES = 24
BETWEEN = 16
MAX_CHARS = 240  # maximum characters of a passage's description of an entity or a relation
ALONE = 3  # passages of a centre without relations


@dataclass(frozen=True, slots=True)
class Evidence:
    """The passage shown for a relation, by number, and its description of it, which may be ""."""

    chunk: int
    description: str


def verbalise(
    view: LiveView, admits: ChunkPredicate | None, pruned: Pruned, tree: TraversalTree, similarity: float
) -> RetrievedPart:
    """Return the subgraph in pre-order, then the relations that are not of the tree.

    Each entity follows the relation that leads to it, with its summary. Weights are the pruned ones: frequency times
    mask. Cost: the entities of the tree and their relations.
    """
    between = list(_between(pruned, tree))[:BETWEEN]
    shown = [relation for relation, _ in tree.parents.values()] + between
    evidence = {number: _evidence(view, admits, pruned.ego.relations[number].statement) for number in shown}
    chunks = {each.chunk for each in evidence.values()} or set(_alone(view, admits, pruned.ego.centre))
    described = {} if admits is not None else _descriptions(view, pruned, tree, chunks)
    chunks.update(chunk for _, chunk in described.values())
    sources = sorted(chunks, key=lambda chunk: view.chunks[chunk].chunk_id)
    summaries = _summaries(view, pruned, tree, sources) | {
        place: description for place, (description, _) in described.items()
    }
    lines = []
    for place, depth in tree.pre_order():
        indent = "  " * depth
        if place != CENTRE:
            number = tree.parents[place][0]
            lines.append(f"{indent[2:]}- {_relation(view, pruned, number, evidence[number].description)}")
        lines.append(f"{indent}{_entity(view, pruned, place, summaries.get(place, ''))}")
    if between:
        lines.append("Also:")
    lines += [f"- {_relation(view, pruned, number, evidence[number].description)}" for number in between]
    ids = tuple(view.chunks[chunk].chunk_id for chunk in sources)
    return quoted_part(view.entities[pruned.ego.centre].name, "\n".join(lines), ids, similarity)


def _between(pruned: Pruned, tree: TraversalTree) -> Iterator[int]:
    """Yield the non-tree edges among the shown entities, the greatest mask first."""
    inside, of_tree = set(tree.order), {relation for relation, _ in tree.parents.values()}
    masks = pruned.relations.round(DECIMALS).tolist()
    ranked = sorted(range(len(masks)), key=lambda number: (-masks[number], number))
    for number in ranked:
        relation = pruned.ego.relations[number]
        if number not in of_tree and relation.subject in inside and relation.object in inside:
            yield number


def _evidence(view: LiveView, admits: ChunkPredicate | None, statement: int) -> Evidence:
    """Return the first passage, by id, that states it."""
    chunks = view.statements[statement].chunks
    admitted = chunks if admits is None else filter(admits, chunks)
    chunk = min(admitted, key=lambda number: view.chunks[number].chunk_id)
    rows = view.chunks[chunk].evidence.of(statement)
    return Evidence(chunk, min((row.sentence or row.description for row in rows), default=""))


def _alone(view: LiveView, admits: ChunkPredicate | None, node: int) -> list[int]:
    chunks = view.entities[node].chunks
    admitted = chunks if admits is None else filter(admits, chunks)
    return sorted(admitted, key=lambda number: view.chunks[number].chunk_id)[:ALONE]


def _summaries(view: LiveView, pruned: Pruned, tree: TraversalTree, chunks: list[int]) -> dict[int, str]:
    """Return the shown passages' description of each entity: the first one, by passage."""
    places = {pruned.ego.nodes[place]: place for place in tree.order}
    found: dict[int, str] = {}
    for chunk in chunks:
        for row in sorted(view.chunks[chunk].mentions, key=lambda mention: mention.description):
            place = places.get(view.labels[row.label].node)
            if place is not None and row.description:
                found.setdefault(place, row.description)
    return found


def _descriptions(view: LiveView, pruned: Pruned, tree: TraversalTree, chunks: set[int]) -> dict[int, tuple[str, int]]:
    """Return a sentence of the stored summary of each entity that has one, and a passage that the sentence cites.

    The first sentence that cites a shown passage is taken; for the centre otherwise its first sentence, which shows one
    more passage. Under a filter nothing is returned: a summary also covers passages that the filter excludes.
    """
    found = {}
    for place in tree.order:
        row = view.summaries.summary(view, pruned.ego.nodes[place])
        numbered = (
            [(finding.text, view.chunk_numbers[chunk]) for finding in row.findings for chunk in finding.chunks]
            if row
            else []
        )
        fitting = [each for each in numbered if each[1] in chunks] or (numbered if place == CENTRE else [])
        if fitting:
            found[place] = fitting[0]
    return found


def _entity(view: LiveView, pruned: Pruned, place: int, summary: str) -> str:
    entity = view.entities[pruned.ego.nodes[place]]
    kind = f" ({entity.type})" if entity.type else ""
    return _weighed(f"{entity.name}{kind}", entity.mentions * pruned.nodes[place], summary)


def _relation(view: LiveView, pruned: Pruned, number: int, description: str) -> str:
    relation = pruned.ego.relations[number]
    statement, nodes = view.statements[relation.statement], pruned.ego.nodes
    subject, object_ = view.entities[nodes[relation.subject]].name, view.entities[nodes[relation.object]].name
    shown = f"{subject} | {view.predicate_of(relation.statement)} | {object_}"
    return _weighed(shown, statement.count * pruned.relations[number], description)


def _weighed(name: str, weight: float, description: str) -> str:
    return f"{name}, {weight:.2f}" + (f": {description[:MAX_CHARS]}" if description else "")
