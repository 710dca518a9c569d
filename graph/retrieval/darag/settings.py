"""Settings of mode `da-rag`."""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.retrieval.options.fields import option


@dataclass(frozen=True, slots=True)
class DaRagSettings:
    """The enabled parts of the method; an ablation disables some. Budgets are in tokens (appendix, table 4).

    The coarse search runs on `coarse` passages: the `nearest`, and the walk's best for the rest.
    """

    chunk_layer: bool = option(True, "search communities of passages first")
    similarity_layer: bool = option(True, "search communities in the similarity layer, too")
    community_search: bool = option(True, "false: the neighbours of the most relevant node in place of a search")
    group: bool = option(False, "true: the cohesive group of each named entity in the whole graph in place of a search")
    neighbours: int = option(5, "nearest entities that the similarity layer links with each entity", 1, 20)
    k: int = option(0, "least trussness of a community's edges: one k for all communities; 0: every k from 3", 0, 100)
    coarse: int = option(120, "passages of the coarse search", 3, 400)
    nearest: int = option(80, "passages of the coarse search by similarity; the others are the walk's best", 1, 400)
    working: int = option(100, "entities of the fine search, the nearest to the question", 3, 300)
    restart: float = option(0.5, "probability with which a step of PageRank restarts at the seeds", 0.1, 0.9)
    membership: float = option(0.25, "weight of membership in a community beside a passage's similarity", 0, 2)
    context_tokens: int = option(4_800, "tokens of reports and passages together", 100, 64_000)
    report_tokens: int = option(3_200, "tokens of reports", 0, 64_000)


COURSE = DaRagSettings()
