"""Implementations of the model ports: offline ones that always run, and those for OpenAI-compatible endpoints.

Nothing here is imported but by name: an endpoint's client is only loaded where one is configured.
"""
