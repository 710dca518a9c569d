"""Relatedness: the probability that two passages belong together, learned from the live graph alone.

    features.py     a pair of vectors as whole numbers: the hidden layer of equation 1
    pairs.py        the training pairs: of one entity, and of chance
    statistics.py   the invertible sums over all examples; and the weights that fit them
    model.py        applies a view's deltas

It is not part of the graph and enters no digest. But incremental equals rebuilt here too: the weights are a function of
the live passages, their vectors and their mentions, to the last bit, whatever was added, changed and removed before.

Source: Gibbs, NAKG, section 3.3, equation 1, and section 3.5. The paper trains by gradients over epochs, so its weights
depend on the order of the documents, and no document can be removed from them. Deviation, for that reason: the hidden
layer is fixed, and only the last layer is learned, in closed form by ridge regression, from sums over pairs; a removed
pair is subtracted. The paper describes heads and layers of attention ("Edge Transformer") without a formula; they are
not implemented.
"""

from graphtide.graph.relatedness.features import Encoded, encode, pair_features
from graphtide.graph.relatedness.model import RelatednessModel
from graphtide.graph.relatedness.statistics import Weights

__all__ = ["Encoded", "RelatednessModel", "Weights", "encode", "pair_features"]
