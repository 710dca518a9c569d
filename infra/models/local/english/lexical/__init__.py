"""Lexical analysis of English: tokens and sentences, word classes, names, dates and quantities."""
