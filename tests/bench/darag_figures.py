"""Figures 4 to 6 of DA-RAG (Zeng et al. 2026) on fifty multi-hop questions: `make bench-da-rag`.

The MuSiQue corpus with extractions brought along, exact indexes, MiniLM vectors. Figure 4: calls of a model and tokens
sent for a question. Figure 5: quality of retrieved subgraphs, by the definitions of appendix B.3. Figure 6: recall by
the number of neighbours in the similarity layer (the paper's k_neighbor), and by the k of the truss. It calls no model,
asserts nothing, and writes docs/retrieval.md. Two minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.layers import KnowledgeLayer
from graphtide.graph.retrieval.darag.coarse_to_fine import coarse_to_fine
from graphtide.graph.retrieval.darag.mode import communities_to_read
from graphtide.graph.retrieval.darag.settings import COURSE
from graphtide.graph.retrieval.scoring.candidates import NEAR
from graphtide.graph.retrieval.search.ppr import personalised_pagerank
from graphtide.graph.retrieval.seeds import find_seeds, restart
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPart, Subgraph
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.vector_index import similarities
from graphtide.graph.view import LiveView
from graphtide.infra.models.prompts.graph_prompts import ANSWER, ANSWER_PART, PromptKind, prompts_by_graph
from graphtide.services.query.context import build_context
from tests.bench.retrieval import PAGE, markdown, recall_table, section
from tests.bench.retrieval_ablations import da_rag, mode
from tests.bench.retrieval_asking import TOP_K, Asked, Method, answered
from tests.bench.retrieval_sets import MUSIQUE, Source, load
from tests.support.marked_page import write_part

BEGIN, END = "<!-- bench-da-rag: begin -->", "<!-- bench-da-rag: end -->"
MARKS = 20
"""Tokens of the marks around a text of a prompt, about."""
SEEDS = 5
WALKED = 20
LEVEL = 1

FIGURE_4 = (
    "Per question, mean. Tokens are those sent, prompts included. What a model writes is not known without one: the "
    "last call of the first row is counted with the reports from structure. The global modes are in their own table. "
    "The paper has 9.3 calls and 42k tokens for DA-RAG, 21.3 calls and 323k tokens for GraphRAG, on other corpora."
)
FIGURE_5 = (
    "Mean over the subgraphs of all questions. Density: edges of the layer among the members, by pairs. Diameter: the "
    "longest shortest path between two members, in the whole knowledge graph, among those that are connected. "
    "Similarity: mean cosine of all pairs of members. QRScore: mean cosine of the members to the question."
)
FIGURE_6 = (
    "Beneath the recall, the difference to the default: 5 neighbours, every k from 3. In parts: the share of the "
    "supporting documents that a part rests on; parts: how many there are."
)


def main() -> None:
    loaded = load(Source(MUSIQUE, "minilm", brought_along=True))
    lines = []
    for line in tables(loaded.view, loaded.ask):
        print(line, flush=True)
        lines.append(line)
    write_part(PAGE, BEGIN, END, "\n".join(["\n", *lines, "\n"]))


def tables(view: LiveView, ask: Asked) -> Iterator[str]:
    """Yield the three figures as Markdown."""
    yield f"{len(ask.questions)} questions to {len(view.chunks):,} passages (MuSiQue), MiniLM vectors."
    yield from section("Calls and tokens (figure 4)", FIGURE_4)
    yield from markdown(calls_table(view, ask))
    yield from section("Quality of retrieved subgraphs (figure 5)", FIGURE_5)
    yield from markdown(quality_table(view, ask))
    yield from section("Recall by k (figure 6)", FIGURE_6)
    found = {name: answered(view, ask, method) for name, method in by_k().items()}
    yield from markdown(recall_table(ask, found, found["5 neighbours"], "similarity layer, k", parts=True))


# -- figure 4 ----------------------------------------------------------------------------------------------------------

Calls = Callable[[LiveView, Question], tuple[int, int]]
"""Calls of a model and tokens sent for one question."""


def calls_table(view: LiveView, ask: Asked) -> list[list[str]]:
    """Return a row for each mode that answers with a model."""
    modes: dict[str, Calls] = {
        "`da-rag`, the model reads communities": reading,
        "`da-rag`, reports from structure": partial(at_once, mode("da-rag")),
        "`local`": partial(at_once, mode("local")),
    }
    table = [["mode", "calls", "at most", "tokens"]]
    for name, calls in modes.items():
        found = np.array([calls(view, question) for question in ask.each(top_k=TOP_K)])
        mean = found.mean(axis=0)
        table.append([name, f"{mean[0]:.1f}", f"{found[:, 0].max():,}", f"{mean[1]:,.0f}"])
    return table


def reading(view: LiveView, question: Question) -> tuple[int, int]:
    """One call for each community that is read, and the answer."""
    parts = communities_to_read(view, replace(question, mode="da-rag"))
    calls, tokens = at_once(mode("da-rag"), view, question)
    return calls + len(parts), tokens + sent(view, question, parts)


def sent(view: LiveView, question: Question, parts: Sequence[RetrievedPart]) -> int:
    """Return the tokens of a call for each part."""
    whole = RetrievalResult((), Subgraph(), view.version, "da-rag", parts=tuple(parts))
    texts = build_context(view, whole).parts if parts else ()
    return sum(prompt(ANSWER_PART) + count_tokens(f"{question.text}\n{text.title}\n{text.text}") for text in texts)


def at_once(method: Method, view: LiveView, question: Question) -> tuple[int, int]:
    """One call with the whole result."""
    given = build_context(view, method(view, question))
    texts = [*(each.text for each in given.passages), *(each.text for each in given.parts)]
    return 1, prompt(ANSWER) + count_tokens(question.text) + sum(map(count_tokens, texts))


def prompt(name: PromptKind) -> int:
    return count_tokens(prompts_by_graph(None, name).of("").text) + MARKS


# -- figure 5 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RetrievedSubgraph:
    """Members by number, and their density."""

    members: tuple[int, ...]
    density: float


def quality_table(view: LiveView, ask: Asked) -> list[list[str]]:
    """Return a row for each method of retrieving a subgraph."""
    found: dict[str, list[tuple[RetrievedSubgraph, Question]]] = {}
    static = static_communities(view)
    for question in ask.each():
        for name, subgraphs in retrieved(view, question, static).items():
            found.setdefault(name, []).extend((each, question) for each in subgraphs if len(each.members) > 1)
    distances = Distances.of(view)
    table = [["subgraphs", "per question", "members", "density", "diameter", "similarity", "QRScore"]]
    for name, rows in found.items():
        measured = np.array([quality(view, distances, each, question) for each, question in rows]).mean(axis=0)
        table.append([name, f"{len(rows) / len(ask.questions):.1f}", *(f"{value:.2f}" for value in measured)])
    return table


def static_communities(view: LiveView) -> dict[int, set[int]]:
    """Return the entities of each community of LEVEL."""
    found: dict[int, set[int]] = {}
    for node in view.neighbours:
        found.setdefault(view.hierarchy.community(node, LEVEL), set()).add(node)
    return found


def retrieved(view: LiveView, question: Question, static: Mapping[int, set[int]]) -> dict[str, list[RetrievedSubgraph]]:
    """Return the subgraphs of a question by method, all from the same seeds."""
    seeds = find_seeds(view, question.vector, None, NEAR)
    mass = personalised_pagerank(view.walk, restart(view, seeds), COURSE.restart)
    communities = coarse_to_fine(view, question, seeds.passages, mass, None).fine
    near = [hit.number for hit in seeds.entities][:SEEDS]
    around = [{node, *view.neighbours.get(node, {})} for node in near]
    walked = sorted((-share, view.entity_id(node // 2), node // 2) for node, share in mass.items() if node % 2 == 0)
    own = {
        layer: [RetrievedSubgraph(each.members, each.density) for each in communities if each.layer == layer]
        for layer in ("knowledge graph", "similarity")
    }
    return {
        "communities of `da-rag`": own["knowledge graph"] + own["similarity"],
        "of the knowledge graph": own["knowledge graph"],
        "of the similarity layer": own["similarity"],
        "neighbours of the nearest entity": [induced(view, around[0])],
        f"neighbours of the {SEEDS} nearest, together": [induced(view, set().union(*around))],
        f"PageRank, best {WALKED}": [induced(view, {number for _, _, number in walked[:WALKED]})],
        f"static communities of the {SEEDS} nearest": [
            induced(view, static[number])
            for number in dict.fromkeys(view.hierarchy.community(node, LEVEL) for node in near)
            if number in static
        ],
    }


def induced(view: LiveView, members: set[int]) -> RetrievedSubgraph:
    """Return the subgraph of the knowledge graph on those members that have a vector."""
    kept = tuple(sorted(node for node in members if node in view.indexes.entities))
    pairs = len(kept) * (len(kept) - 1) / 2
    return RetrievedSubgraph(kept, len(KnowledgeLayer(view).induced_edges(kept)) / pairs if pairs else 0.0)


@dataclass(frozen=True, slots=True)
class Distances:
    """The knowledge graph by the places of its entities: the neighbours of each, itself included, from `starts` on.

    A search starts from all members at once, with a bit for each.
    """

    place: Mapping[int, int]
    ends: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, view: LiveView) -> Distances:
        place = {node: position for position, node in enumerate(view.entities)}
        rows = [[place[node], *(place[other] for other in view.neighbours.get(node, {}))] for node in place]
        starts = np.cumsum([0, *map(len, rows)])[:-1]
        return cls(place, np.array([end for row in rows for end in row], np.int64), starts)

    def diameter(self, members: Sequence[int]) -> int:
        """Return the greatest distance between two members that are connected in the whole graph."""
        places = [self.place[node] for node in members]
        reached = np.zeros((len(self.place), -(-len(members) // 64)), np.uint64)
        for number, place in enumerate(places):
            reached[place, number // 64] |= np.uint64(1 << number % 64)
        depth = diameter = 0
        while True:
            further = np.bitwise_or.reduceat(reached[self.ends], self.starts, axis=0)
            depth += 1
            if (further[places] != reached[places]).any():
                diameter = depth
            if (further == reached).all():
                return diameter
            reached = further


def quality(
    view: LiveView, distances: Distances, found: RetrievedSubgraph, question: Question
) -> tuple[float, float, float, float, float]:
    """Return the number of members, density, diameter, mean similarity of pairs, and QRScore."""
    vectors = view.indexes.entities.vectors(np.array(found.members, np.int64)).astype(np.float32)
    count = len(vectors)
    unit = (question.vector / np.linalg.norm(question.vector)).astype(np.float32)
    pairs = (float((vectors @ vectors.T).sum()) - float((vectors * vectors).sum())) / (count * (count - 1))
    score = float(similarities(unit, vectors).mean())
    return count, found.density, distances.diameter(found.members), pairs, score


# -- figure 6 ----------------------------------------------------------------------------------------------------------


def by_k() -> dict[str, Method]:
    """Return mode `da-rag` by neighbours of the similarity layer, and by the k of the truss."""
    neighbours = {f"{k} neighbours": da_rag(replace(COURSE, neighbours=k)) for k in (3, 5, 7, 9)}
    return {**neighbours, **{f"5 neighbours, k = {k}": da_rag(replace(COURSE, k=k)) for k in (2, 3, 4)}}


if __name__ == "__main__":
    main()
