"""Readers of document texts: Markdown, plain text and CSV become blocks with their headings, rows and positions."""
