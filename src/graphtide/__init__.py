"""Graphtide: a knowledge graph that stays current while documents arrive, and answers from it."""
