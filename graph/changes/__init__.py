"""Changes of a graph: the rows of one commit, their reversal, and their summary for readers."""
