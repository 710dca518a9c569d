"""The three layers of DA-RAG's index over the live view: passages, knowledge graph, similarity.

    contract.py     what every layer answers: the neighbours of one number, the links among some
    chunks.py       passages, linked where a relation leads from one to the other, and the links between the layers
    headings.py     what a passage is called: title and one line
    knowledge.py    entities and the relations between them, with trussness
    similarity.py   entities and their nearest by vector

Nothing here is kept: every answer is read off the view's tables and indexes when it is asked for, so that a layer is
as current as the view and cannot fall out of step with it. Measured against keeping them, that is the cheaper way too:
see `docs/core.md`.

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
