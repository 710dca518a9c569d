"""Measures of answers: exact match, judged comparisons and scores, those of GraphRAG-Bench; means and intervals."""
