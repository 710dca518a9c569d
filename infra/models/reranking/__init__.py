"""Rerankers: cross-encoders that score passages for a question, on endpoints with the /rerank interface."""
