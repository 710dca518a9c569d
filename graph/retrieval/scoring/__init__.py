"""Scoring of passages: candidates, pair scoring and reranking, MMR, shared terms."""
