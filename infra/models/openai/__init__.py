"""Adapters of the model ports for OpenAI-compatible endpoints."""
