"""Retrieval from the live view: one table of modes, one call.

A mode is a function of a view and a question; it reads the view's tables and indexes, keeps no state of its own, and is
deterministic: on equal graphs, built in whatever order, with exact indexes, it gives equal results.

    types.py             the input and output of every mode
    modes/table.py       the table of modes, and the call
    modes/vector.py      mode `vector`: by similarity alone
    modes/local.py       mode `local`: by the graph, for a context
    modes/passages.py    mode `passages`: by the graph, for recall
    modes/bridge.py      mode `bridge`: how the entities named in the question are related, with entity_linking.py and
                         search/: entity_graph.py ─► steiner.py
    modes/pipeline.py    mode `pipeline`: BFS, beam search, community filter, walk, bridge and MMR in sequence
    modes/auto.py        mode `auto`: chooses one of the others for the question
    darag/               mode `da-rag`: community search for the question, with verbalised communities
    dynagrag/            mode `dynagrag`: diverse ego-graphs, pruned and verbalised: one step per module
    global_search/       modes `global`, `global-dynamic`: community reports, of a level or rated as relevant
    nakg/                mode `nakg`: the documents as a graph with learned edges; and the documents related to one
    scoring/pair_reranking.py
                         the steps that `local` and `passages` share, each usable alone:
        seeds.py ─► search/ppr.py ─► scoring/candidates.py ─► scoring/pair_scoring.py ─► scoring/mmr.py
    options/             the parameters of the modes that a question may set
    question_words.py, filters.py, subgraph.py, explain.py: words, filters, the shown subgraph, the explanation
    temporal.py: the validity of the relations in any mode's subgraph
"""
