"""Mode `dynagrag`: ego-graphs around what the question touches, chosen to differ, pruned, and put into words.

    settings.py     the parameters, and what an ablation turns off
    egographs.py    the entities and relations within three hops of a centre, under caps
    embedding.py    one vector for an ego-graph: weighted node and edge features over the total weight
    choosing.py     centres ─► ego-graphs ─► similarity ─► unique top nodes
    pruning.py      distances, prominence, graph convolution: a soft mask over entities and relations
    traversal.py    dynamic similarity-aware BFS, and the plain one
    prompt.py       a tree read in pre-order, then what is outside the tree: the hard prompt
    mode.py         the whole, and the passages behind it

An answer for each part, its helpfulness, and the final synthesis (section 3.5) need a language model: they belong to
whoever answers, and `Retrieved.synthesis` asks for them.

Nothing is kept between questions. The paper keeps a database of all ego-graphs; but a document about a hub changes the
ego-graph of everything within three hops of it, which has no bound. So the ego-graphs of the centres that a question
touches are read off the live view, and are always those of the live graph.

Source: Thakrar 2024 (DynaGRAG). Section 3.1 (de-duplication, two-step mean pooling) is the consolidation's.
"""

from graphtide.graph.retrieval.dynagrag.mode import retrieve_dynagrag
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag, Traversal

__all__ = ["Dynagrag", "Traversal", "retrieve_dynagrag"]
