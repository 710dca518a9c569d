"""Typed values in a text: dates, quantities, places and names. Everything is decided on its words, in one pass each."""
