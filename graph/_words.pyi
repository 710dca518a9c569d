"""Compiled kernel of graphtide.graph.retrieval.scoring.terms (graph/kernels/words.cpp)."""

from numpy import bool_
from numpy.typing import NDArray

def occurrences(words: list[str], texts: list[str]) -> NDArray[bool_]: ...
