"""Settings of the modes that have no module for them. Defaults are those of the measurements in docs/retrieval.md."""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.retrieval.options.fields import Weights, option


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Mode `vector` has no parameters but those of its index."""


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Parameters of `passages`: seeds, walk, candidates, set coverage. The weights of the scores are constants."""

    statements: int = option(5, "nearest statements that restart the walk", 0, 50)
    entities: int = option(5, "nearest entities that restart the walk", 0, 50)
    restart: float = option(0.5, "probability with which a step of PageRank restarts at the seeds", 0.1, 0.9)
    near: int = option(200, "nearest passages among the candidates", 1, 500)
    walked: int = option(50, "passages with most of the walk's mass among the candidates", 0, 500)
    named: int = option(40, "passages about things that the question names among the candidates", 0, 200)
    injected: int = option(20, "candidates that aboutness links add, in each direction", 0, 100)
    firsts: int = option(20, "passages that open a pair", 1, 100)
    coverage: int = option(6, "passages that the set coverage chooses", 0, 20)


@dataclass(frozen=True, slots=True)
class LocalSettings(PairSettings):
    """Parameters of `local`."""

    repetition: float = option(0.95, "cosine above which a passage repeats a better one, and moves to the end", 0.5, 1)


@dataclass(frozen=True, slots=True)
class BridgeSettings:
    """Parameters of `bridge`."""

    terminals: int = option(5, "entities of the question that are connected", 2, 10)
    cost: float = option(10.0, "cost of the longest path that counts as a connection", 1, 100)
    links: int = option(4_000, "links that the search reads", 100, 40_000)


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Parameters of `pipeline`, by the step of the article that they belong to."""

    hops: int = option(1, "hops of the breadth-first search", 0, 3)
    degree: int = option(20, "neighbours per entity that the breadth-first search follows, the heaviest first", 1, 100)
    size: int = option(200, "entities that the breadth-first search finds", 1, 1_000)
    beam: int = option(50, "width of the beam of the priority-guided search", 1, 500)
    threshold: float = option(0.25, "priority below which the guided search does not follow an entity", 0, 10)
    visits: int = option(60, "entities that the guided search visits", 0, 500)
    shared_word: float = option(1.5, "multiplier of a relation whose predicate shares a word with the question", 0, 10)
    multipliers: Weights = option((), "multipliers of relations by predicate; they replace `shared_word`", 0, 10)
    restart: float = option(0.5, "probability with which a step of PageRank restarts at the seeds", 0.1, 0.9)
    near: int = option(100, "nearest passages among the candidates", 1, 500)
    explored: int = option(200, "passages of explored entities among the candidates, by the walk's mass", 0, 1_000)
    bridged: int = option(3, "seeds to connect by a bridge", 0, 5)
    trade_off: float = option(0.8, "weight of relevance against novelty (maximal marginal relevance)", 0, 1, "lambda")
    reports: bool = option(True, "read the kept report of the community, where there is one")
    relations: int = option(12, "relations in the part of a community", 0, 100)


@dataclass(frozen=True, slots=True)
class GlobalSettings:
    """Mode `global` has no parameters but the question's `level`."""


@dataclass(frozen=True, slots=True)
class GlobalDynamicSettings:
    """Parameters of `global-dynamic`."""

    relevant: int = option(1, "rating from which a report is relevant, of 0 to 5", 1, 5)
    entities: int = option(40, "nearest entities that make communities reachable", 0, 200)
