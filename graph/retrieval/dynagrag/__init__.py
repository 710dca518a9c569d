"""Mode `dynagrag`: ego-graphs around the question's entities, selected for diversity, pruned, and verbalised.

    settings.py     the parameters, and the switches of an ablation
    egographs.py    the entities and relations within three hops of a centre, under limits
    embedding.py    one vector for an ego-graph: weighted node and edge features over the total weight
    selection.py    centres ─► ego-graphs ─► similarity ─► unique top nodes
    learning/       the weights of the mask, from pseudo-questions of the live graph
    pruning.py      a soft mask over entities and relations: learned, or by distance, prominence and graph convolution
    traversal.py    dynamic similarity-aware BFS, and plain BFS
    prompt.py       a tree in pre-order, then the non-tree relations: the hard prompt
    ranking.py      the passages of the chosen subgraphs, best first
    mode.py         the complete mode

An answer for each part, its helpfulness, and the final synthesis (section 3.5) need a language model: the answer stage
makes them, as `RetrievalResult.synthesis` requests.

Nothing is stored between questions. The paper keeps a database of all ego-graphs; but a document about a hub changes
the ego-graph of every entity within three hops of it, which has no bound. So the ego-graphs of a question's centres are
read from the live view, and are always those of the live graph.

Source: Thakrar 2024 (DynaGRAG). Section 3.1 (de-duplication, two-step mean pooling) is the consolidation's.
"""
