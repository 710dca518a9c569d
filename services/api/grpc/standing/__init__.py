"""The calls of standing questions."""
