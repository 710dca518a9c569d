"""Evaluation of answers: exact match and F1, judged comparisons and scores, GraphRAG-Bench's measures.

An optional part: `graphtide eval` alone imports it, the service never does.
"""
