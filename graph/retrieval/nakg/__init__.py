"""Mode `nakg`: the documents a question touches, as a graph of their own.

    settings.py     the parameters
    documents.py    the candidates: passages near the question or led to, and their documents
    clustering.py   DBSCAN over the candidates' vectors: which pairs are worth a weight
    edges.py        learned edge weights (equation 1), attention, caps
    propagation.py  three layers of messages with residuals (equation 2)
    scoring.py      40 % words, 30 % their order, 30 % meaning; separation and rank decay
    mode.py         the whole
    related.py      the documents related to a document, without a question

What is learned is kept with the view (graph/relatedness) and is a function of the live set; the rest is read off the
view for each question.

Source: Gibbs, Neural Adaptive Knowledge Graphs (NAKG). Each document keeps max(2, 0.3 N) connections in the paper: a
quadratic number, which no store of any size bears. Here the pairs that get a weight are those of one cluster, those
that share an entity, and each document's two nearest, among the candidates alone, and a document keeps at most ten.
"""

from graphtide.graph.retrieval.nakg.mode import retrieve_nakg
from graphtide.graph.retrieval.nakg.related import Related, related_documents
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.nakg.trace import shared_names

__all__ = ["Nakg", "Related", "related_documents", "retrieve_nakg", "shared_names"]
