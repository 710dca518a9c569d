"""Entity resolution without order: which labels are the same entity, and why.

Read in this order: `normalisation` (a name becomes a label), `signature` (what is read off it), `guards` and
`similarity` (the rules for a pair), `judgement`, `blocking` (which pairs), `clusters` (from links to entities) and
`resolver` (the state that is kept current).
"""

from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.resolution.pair_scoring import LabelKey, LabelView, PairKey
from graphtide.graph.resolution.resolver import ClusterChange, Resolver, SameAs

__all__ = [
    "ClusterChange",
    "LabelKey",
    "LabelView",
    "PairKey",
    "Resolver",
    "SameAs",
    "normalise",
]
