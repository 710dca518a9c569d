"""Markdown as blocks: the reader, and a module for each of its dialects and parts."""
