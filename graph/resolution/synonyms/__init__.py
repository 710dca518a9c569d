"""Synonyms: pairs of labels with different words, proposed to a judge by the similarity of their vectors.

Read in this order: `blocking` (the candidate pairs), `scoring` (the pairs worth a question) and `questions` (what a
judge is asked, and how its verdict is stored). Without a judge nothing here changes the graph.
"""
