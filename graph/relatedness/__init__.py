"""How likely two passages belong together, learned from the live graph and from nothing else.

    features.py     a pair of vectors as whole numbers: the hidden layer of equation 1
    pairs.py        which pairs are examples: of one entity, and of chance
    statistics.py   what all examples come to, with an inverse; and the weights that fit them
    learner.py      follows a view's deltas

Not a part of the graph: it enters no digest. Yet the law holds for it: the weights are a function of the live passages,
their vectors, and what they mention, to the last bit, whatever came, changed and went before.

Source: Gibbs, NAKG, section 3.3, equation 1, and section 3.5. The paper trains by gradients over epochs, so that its
weights depend on the order of the documents and cannot forget one. Deviation, for that reason: the hidden layer is
fixed, and only the last layer is learned, in closed form by ridge regression, from sums over pairs; a pair that goes is
subtracted. Heads and layers of attention ("Edge Transformer") are described without a formula, and are not here.
"""

from graphtide.graph.relatedness.features import Encoded, encode, pair_features
from graphtide.graph.relatedness.model import RelatednessModel
from graphtide.graph.relatedness.statistics import Weights

__all__ = ["Encoded", "RelatednessModel", "Weights", "encode", "pair_features"]
