"""Mode `nakg`: retrieval over a graph of the question's candidate documents.

    settings.py     the parameters
    documents.py    the candidates: passages near the question or linked to them, and their documents
    clustering.py   DBSCAN over the candidates' vectors: the pairs that get a weight
    edges.py        learned edge weights (equation 1), attention, limits
    propagation.py  messages: of vectors (equation 2), of relevance along structural links
    scoring.py      40 % words, 30 % their order, 30 % meaning; separation and rank decay
    mode.py         the complete mode
    related.py      the documents related to a document, without a question
    trace.py        the shown relations and the steps

The learned weights are kept with the view (graph/relatedness) and are a function of the live set; all else is read from
the view for each question.

Source: Gibbs, Neural Adaptive Knowledge Graphs (NAKG). Each document keeps max(2, 0.3 N) connections in the paper: a
quadratic number, too large for any store. Here the pairs that get a weight are those of one cluster, those that share
an entity, and each document's two nearest, among the candidates alone, and a document keeps at most ten.
"""
