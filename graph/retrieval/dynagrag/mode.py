"""Mode `dynagrag`: from a question to its parts and passages; see the package for the steps.

Invariant: canonical names and values alone decide, so equal graphs give equal results on exact indexes.
"""

from __future__ import annotations

import numpy as np

from graphtide.graph.retrieval.dynagrag import trace as shown
from graphtide.graph.retrieval.dynagrag.learning import MaskModel, MaskWeights
from graphtide.graph.retrieval.dynagrag.prompt import ENTITIES, verbalise
from graphtide.graph.retrieval.dynagrag.pruning import Pruned, prominence, prune, prune_by, untouched
from graphtide.graph.retrieval.dynagrag.ranking import Ranked, rank, supported
from graphtide.graph.retrieval.dynagrag.selection import EgoGraphSelection, select, widened
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, Mask
from graphtide.graph.retrieval.dynagrag.traversal import explore
from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.seeds import find_seeds, searched_indexes
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph, Synthesis, Trace
from graphtide.graph.view import LiveView


def retrieve_dynagrag(view: LiveView, question: Question, settings: Dynagrag | None = None) -> RetrievalResult:
    """Return a part for each chosen subgraph, by similarity; and the `top_k` passages, mostly those the parts cite.

    Call under `view.lock.read()`. Cost: five searches, some seventy small ego-graphs, the passages of five of them:
    each step is bounded, whatever the graph's size.
    """
    settings = settings or settings_from(Dynagrag, question.options)
    admits = admitted_chunks(view, question.filters)
    seeds = find_seeds(view, question.vector, admits, max(NEAR, question.top_k), searched_indexes(view, question))
    if not np.any(question.vector) or not (seeds.entities or seeds.passages):
        return RetrievalResult((), Subgraph(), view.version, "dynagrag", Trace() if question.explain else None)
    choice = select(view, question.vector, seeds, admits, settings, searched_indexes(view, question))
    choice = widened(view, admits, choice, settings)
    learned = view.followers.get(MaskModel).weights(view) if settings.mask is Mask.LEARNED else None
    pruned = pruned_subgraphs(choice, question, settings, learned)
    trees = [explore(each, settings.traversal, ENTITIES) for each in pruned]
    rows = zip(choice.chosen, pruned, trees, strict=True)
    parts = tuple(verbalise(view, admits, graph, tree, candidate.similarity) for candidate, graph, tree in rows)
    ranked = rank(view, question.vector, seeds, supported(view, admits, choice.chosen, pruned), question.top_k)
    passages = tuple(_passage(view, each) for each in ranked)
    trace = Trace(shown.steps(view, choice, pruned, trees, ranked, learned)) if question.explain else None
    subgraph = shown.subgraph(view, pruned)
    return RetrievalResult(passages, subgraph, view.version, "dynagrag", trace, parts, Synthesis.BY_PART)


def pruned_subgraphs(
    choice: EgoGraphSelection, question: Question, settings: Dynagrag, learned: MaskWeights | None = None
) -> list[Pruned]:
    """Return the chosen subgraphs with their masks: the learned ones where there are weights, else the fixed ones."""
    asked, gathered = question.vector.astype(np.float64), choice.gathered
    egos = [candidate.ego for candidate in choice.chosen]
    if not settings.pruning:
        return [untouched(ego, gathered, asked) for ego in egos]
    if learned is not None:
        return [prune_by(learned, ego, gathered, asked) for ego in egos]
    nodes = dict.fromkeys(gathered.entities.row[node] for ego in egos for node in ego.nodes)
    statements = dict.fromkeys(
        gathered.statements.row[relation.statement] for ego in egos for relation in ego.relations
    )
    judged = prominence(gathered, (list(nodes), list(statements)), asked)
    return [prune(ego, gathered, judged, asked) for ego in egos]


def _passage(view: LiveView, ranked: Ranked) -> RetrievedPassage:
    chunk = view.chunks[ranked.number]
    return RetrievedPassage(chunk.chunk_id, chunk.doc_id, ranked.score, chunk.text)
