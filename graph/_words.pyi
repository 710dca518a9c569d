"""Compiled kernel of graphtide.graph.retrieval.scoring.terms (graph/kernels/words.cpp)."""

from collections.abc import Callable

from numpy import bool_, uint16
from numpy.typing import NDArray

def occurrences(
    words: list[str], texts: list[str], letters: NDArray[uint16], fold: Callable[[str], str]
) -> NDArray[bool_]: ...
