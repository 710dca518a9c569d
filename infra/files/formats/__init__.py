"""Readers of single formats: each turns the bytes of a file into text, and names what it cannot read."""
