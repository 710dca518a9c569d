"""Readings of a graph for callers: document status, entity details, model usage, shared expensive reads."""
