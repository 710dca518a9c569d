"""Caches of model results, keyed by content, model and prompt version."""
