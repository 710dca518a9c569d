"""Retrieval modes, one module each."""
