"""A copy of the graph in your own program, kept equal by the change feed, for your own algorithms: here PageRank.

    graphtide serve                        # in another terminal
    pip install networkx
    python examples/mirror.py

prints

    most central: Merrow Glacier
    after more documents: Port Amsel
    the copy equals the graph: True
"""

from __future__ import annotations

import os

import networkx

import graphtide
import graphtide.sync

FIRST = ["Ida Moreau mapped Merrow Glacier.", "Tor Ruud measured Merrow Glacier."]
MORE = [
    "Rosa Delgado lives in Port Amsel. Viktor Hale lives in Port Amsel.",
    "Lena Abara lives in Port Amsel. Tor Ruud lives in Port Amsel.",
]


def update(copy: graphtide.GraphReplica, source: graphtide.sync.Graph) -> None:
    """Apply what has changed since the last call; the first call reads the whole graph."""
    after = f"v{copy.version}" if copy.version else ""
    for event in source.changes(after=after, rows=True, follow=False):
        copy.apply(event)


def most_central(copy: graphtide.GraphReplica) -> str:
    """Return the name of the entity with the highest PageRank."""
    weighted = networkx.Graph()
    weighted.add_weighted_edges_from((edge.u, edge.v, edge.weight) for edge in copy.edges())
    ranks = networkx.pagerank(weighted)
    return max(copy.entities(), key=lambda entity: ranks.get(entity.id, 0.0)).name


url, key = os.environ.get("GRAPHTIDE_URL", "http://127.0.0.1:8080"), os.environ.get("GRAPHTIDE_API_KEY", "")
with graphtide.sync.connect(url, api_key=key) as db:
    polar = db.graph("polar", read_your_writes=True)
    copy = graphtide.GraphReplica()
    polar.add_many({"id": f"first-{n}", "text": text} for n, text in enumerate(FIRST))
    update(copy, polar)
    print("most central:", most_central(copy))

    polar.add_many({"id": f"more-{n}", "text": text} for n, text in enumerate(MORE))
    update(copy, polar)
    print("after more documents:", most_central(copy))
    print("the copy equals the graph:", copy.digest() == polar.digest().digest)
