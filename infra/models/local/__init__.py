"""Adapters of the model ports that need no model server."""
