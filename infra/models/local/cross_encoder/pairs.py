"""Pairs of question and unit as the cross-encoder reads them: their tokens, and batches of pairs.

The tokens are [CLS] question [SEP] headings ([SEP] sentence before) [SEP] text [SEP], where the text and the last
separator have type 1, each part cut to its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.local.answers.relevance import UnitText
from graphtide.infra.models.local.minilm_tokenizer import CLASS, SEPARATOR, bert_tokenizer, vocabulary

QUESTION_TOKENS, CONTEXT_TOKENS, PREVIOUS_TOKENS, TEXT_TOKENS = 40, 24, 24, 72
"""Tokens that are read of the question, a unit's headings, the end of the sentence before it, and its own text."""
QUESTION_CHARS = 1_000
"""Characters of the question that are tokenized: it is for each unit, and a question may be long."""


@dataclass(frozen=True, slots=True)
class TokenPair:
    """The tokens of a pair, and how many of them are before the unit's text."""

    ids: Sequence[int]
    before: int


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """Pairs of about one length: (pairs, longest) ids and types with zeros at the end, and (pairs,) lengths."""

    ids: NDArray[np.int64]
    types: NDArray[np.int64]
    lengths: NDArray[np.int64]


class PairTokenizer:
    """A tokenizer of pairs."""

    def __init__(self) -> None:
        tokens = vocabulary()
        self._tokenizer = bert_tokenizer()
        self._begin, self._separator = tokens[CLASS], tokens[SEPARATOR]

    def pair(self, question: str, unit: UnitText) -> TokenPair:
        """Return the tokens of a pair."""
        first = [self._begin, *self._ids(question[:QUESTION_CHARS])[:QUESTION_TOKENS]]
        first += [self._separator, *self._ids(unit.context)[:CONTEXT_TOKENS]]
        if previous := self._ids(unit.previous)[-PREVIOUS_TOKENS:]:
            first += [self._separator, *previous]
        first.append(self._separator)
        return TokenPair([*first, *self._ids(unit.text)[:TEXT_TOKENS], self._separator], len(first))

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        return ids


def batch_of(pairs: Sequence[TokenPair]) -> TokenBatch:
    """Return a batch of pairs, in their order."""
    lengths = np.array([len(pair.ids) for pair in pairs], np.int64)
    ids, types = (np.zeros((len(pairs), int(lengths.max())), np.int64) for _ in range(2))
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = pair.ids
        types[row, pair.before : len(pair.ids)] = 1
    return TokenBatch(ids, types, lengths)


def by_length(pairs: Sequence[TokenPair]) -> list[int]:
    """Return the places of pairs, that of the shortest first."""
    return sorted(range(len(pairs)), key=lambda place: len(pairs[place].ids))
