"""Parsers of model replies: JSON, extractions, quotations, citations."""
