"""Entity resolution that does not depend on the order of arrival: which labels are the same entity, and why.

Read in this order: `normalisation` (from a name to a label), `label_features` (its parsed features), `cannot_link` and
`similarity` (the rules for a pair), `pair_scoring`, `blocking` (the candidate pairs), `synonyms` (pairs that only a
judge may link), `clusters` (from links to entities) and `resolver` (the maintained state).
"""

from graphtide.graph.resolution.changes import ClusterChange, SameAs
from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.resolution.pair_scoring import LabelKey, LabelView, PairKey, Verdict, rounded
from graphtide.graph.resolution.resolver import Resolver
from graphtide.graph.resolution.synonyms.questions import PairQuestion

__all__ = [
    "ClusterChange",
    "LabelKey",
    "LabelView",
    "PairKey",
    "PairQuestion",
    "Resolver",
    "SameAs",
    "Verdict",
    "normalise",
    "rounded",
]
