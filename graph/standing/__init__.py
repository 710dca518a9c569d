"""Standing questions: questions that are registered once and evaluated exactly at every version of a graph.

    types.py            a standing question's request, its evidence, and a change of the evidence
    evaluation.py       the exact evaluation of a question, with all rows and scores that it depends on
    changed_rows.py     the rows that one commit changed
    bounds.py           vectors of questions with the similarity that a changed row must reach
    nearest_passages.py the evaluations of the mode `vector`, made for all affected questions of a commit together
    dependencies.py     the index from changed rows to the questions that they can affect
    evaluator.py        the evidence of all questions of a graph, kept current commit by commit

Pure: no I/O and no event loop. Invariant (tested by asking all questions again after every commit): after `advance`,
the evidence of every question equals that of an exact question at the view's version, and a change was returned for it
exactly if it differs from the evidence before.
"""
