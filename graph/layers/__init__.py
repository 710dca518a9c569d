"""The three layers of DA-RAG's index over the live view: passages, knowledge graph, similarity.

    types.py        the port of a layer: the neighbours of a number, the links among several
    chunks.py       passages, linked where a relation connects them, and the links between the layers
    headings.py     the title and one-line description of a passage
    knowledge.py    entities and the relations between them, with trussness
    similarity.py   entities and their nearest by vector

The layers store nothing: every result is read from the view's tables and indexes on request, so that a layer is always
as current as the view. Measurements show this to be cheaper than storing them: see `docs/core.md`.

Source: Zeng et al. 2026 (DA-RAG), section 3.
"""

from graphtide.graph.layers.chunks import ChunkLayer, entities_in, working_entities
from graphtide.graph.layers.headings import Heading, heading
from graphtide.graph.layers.knowledge import KnowledgeLayer
from graphtide.graph.layers.similarity import SimilarityLayer
from graphtide.graph.layers.types import Layer, LayerLink, Neighbour

__all__ = [
    "ChunkLayer",
    "Heading",
    "KnowledgeLayer",
    "Layer",
    "LayerLink",
    "Neighbour",
    "SimilarityLayer",
    "entities_in",
    "heading",
    "working_entities",
]
