"""Links between predicates, as marks on the stored verdicts that they follow from.

Invariant: after each commit, the verdicts on predicates that are positive and odd are the links of the graph.
"""

from __future__ import annotations

from graphtide.graph.records import GraphDelta
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE, PredicatePair, pair_of
from graphtide.infra.bolt.codec import digest_key
from graphtide.infra.bolt.cypher import documents as document_cypher
from graphtide.infra.bolt.database import BlockingTransaction, Transaction


async def write(tx: Transaction, delta: GraphDelta) -> None:
    """Mark the verdicts of the links that begin and end; of a snapshot, all others end. Cost: these links."""
    graph = delta.graph
    if delta.snapshot:
        await tx.run(document_cypher.END_ALL_PREDICATE_LINKS, graph=graph, type=PREDICATE_TYPE)
    await tx.each_key(document_cypher.END_PREDICATE_LINKS, [_key(graph, pair) for pair in delta.gone.predicate_links])
    await tx.each_key(document_cypher.BEGIN_PREDICATE_LINKS, [_key(graph, pair) for pair in delta.predicate_links])


def read(tx: BlockingTransaction, graph: str) -> tuple[PredicatePair, ...]:
    """Return the links, sorted. Cost: the verdicts of the graph."""
    found = tx.stream(document_cypher.READ_PREDICATE_LINKS, graph=graph, type=PREDICATE_TYPE)
    return tuple(sorted((a, b) for a, b in found))


def _key(graph: str, pair: PredicatePair) -> str:
    a, b = pair_of(*pair)
    return digest_key(graph, *a, *b)
