"""Implementations of the model ports: offline ones that always run, and those for OpenAI-compatible endpoints.

Modules are imported by name only: an endpoint's client is loaded only if one is configured.
"""
