"""Predicates with one meaning: pairs proposed to a judge by what their statements have in common, and their groups.

Read in this order: `pairs` (the stored form of a question about two predicates), `vectors` (the vector of a predicate),
`resolver` (the maintained links) and `groups` (what a view shows for a predicate). Without a judge nothing here changes
the graph.
"""
