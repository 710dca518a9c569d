"""Compiled kernel of graphtide.graph.retrieval.scoring.terms (graph/kernels/words.cpp)."""

from numpy import bool_
from numpy.typing import NDArray

def occurrences(words: list[bytes], texts: list[str | bytes]) -> NDArray[bool_]: ...
