"""Models that are learned from a live view: fitted in closed form from integer sums that can be retracted.

    discriminant.py   sums over labelled rows of features, and the linear discriminant that fits them
    followers.py      the models of one view, created when a question first needs them

They are not part of the graph and enter no digest. Incremental equals rebuilt nevertheless: a model's sums are a
function of the live set, so its weights are equal to the last bit whatever was added, changed and removed before.
"""

from graphtide.graph.learning.discriminant import Discriminant, fit_discriminant, row_sums
from graphtide.graph.learning.followers import Follower, Followers

__all__ = ["Discriminant", "Follower", "Followers", "fit_discriminant", "row_sums"]
