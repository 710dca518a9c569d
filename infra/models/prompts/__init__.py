"""Prompt templates and their overrides per graph."""
