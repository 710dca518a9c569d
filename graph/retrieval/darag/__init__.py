"""Mode `da-rag`: community search for the question, coarse to fine, over the three layers (Zeng et al. 2026).

attributed_graph.py   a small graph whose nodes have a relevance, and its trusses
qpeel.py              the embedding-attributed community search: Q-Peel, Algorithm 1
adaptive.py           the communities of every k, and the relevance score that chooses among them
report.py             the text of a community, from its structure
reading.py            the text of a community for a language model, and the report that it writes
groups.py             the cohesive group of an entity, by kept trussness
coarse_to_fine.py     from passages to working subgraphs to communities
mode.py               the mode: reports packed under the token budget, then passages
"""
