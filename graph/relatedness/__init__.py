"""Relatedness: the probability that two passages belong together, learned from the live graph alone.

    features.py     the features of a pair: cosine, and whether one is titled by a name that the other mentions
    pairs.py        the training pairs: of one entity, and of chance
    statistics.py   the invertible sums over all examples; and the weights that fit them
    model.py        applies a view's deltas

It is not part of the graph and enters no digest. But incremental equals rebuilt here too: the weights are a function of
the live passages, their vectors, titles and mentions, to the last bit, whatever was added, changed and removed before.

Source: Gibbs, NAKG, section 3.3, equation 1, and section 3.5. The paper trains by gradients over epochs, so its weights
depend on the order of the documents, and no document can be removed from them. Deviations, for that reason: the two
vectors enter equation 1 by their cosine only (a hidden layer over them was measured and separates no better), a
structural feature is added, and the weights are the log odds of naive Bayes, in closed form from sums of whole numbers
over pairs; a removed pair is subtracted. The paper describes heads and layers of attention ("Edge Transformer") without
a formula; they are not implemented.
"""

from graphtide.graph.relatedness.model import RelatednessModel
from graphtide.graph.relatedness.statistics import Weights

__all__ = ["RelatednessModel", "Weights"]
