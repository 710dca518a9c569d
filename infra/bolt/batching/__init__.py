"""Calls of many callers, sent to the graph database in one statement."""
