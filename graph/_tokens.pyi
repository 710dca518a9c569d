"""Compiled kernel of graphtide.infra.models.local.static_embedder (graph/kernels/tokens.cpp)."""

from collections.abc import Iterable

from numpy import float32, int32
from numpy.typing import NDArray

class StaticModel:
    """Byte-pair tokens of a text, and the sum of their vectors, of unit length. Refers to the table."""

    def __init__(
        self, vocabulary: dict[str, int], merges: NDArray[int32], table: NDArray[float32], unknown: int
    ) -> None:
        """Create the model: tokens by text; merges (n, 3) of left, right and made token, by rank; vectors (tokens, d).

        `unknown` is the token of a text without tokens. Raises ValueError for a token without a vector.
        """

    def tokens(self, text: str) -> list[int]:
        """Return the tokens of a text without lone surrogates that spells out no special token."""

    def vector(self, pieces: Iterable[str | int]) -> NDArray[float32]:
        """Return the vector of a text, (d,): each piece is tokenized by itself, or is a token. Holds the GIL."""
