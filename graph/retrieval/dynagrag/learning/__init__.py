"""The learned soft mask of mode `dynagrag`, from pseudo-questions that the live graph itself answers.

    features.py           what the mask reads of an entity and of a relation of a subgraph, for a question
    pseudo_questions.py   a path of two relations as a question, and the entities and relations of its passages
    sample.py             the passages whose paths are used: those of least digest
    mask_model.py         the sums over all pseudo-questions of a view, kept current; and the weights that fit them

No question of a user is learned from, no model is called, and nothing is trained by gradients. Source: Thakrar 2024
(DynaGRAG), section 3.3: a perceptron and a graph convolution whose training the paper does not describe.
"""

from graphtide.graph.retrieval.dynagrag.learning.mask_model import MaskModel, MaskWeights

__all__ = ["MaskModel", "MaskWeights"]
