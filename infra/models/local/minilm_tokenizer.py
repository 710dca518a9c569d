"""BERT's tokenizer for lower-case text, as MiniLM reads it. The vocabulary (Apache 2.0) is beside this module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_VOCABULARY = Path(__file__).with_name("minilm_vocab.txt")
CLASS, SEPARATOR = "[CLS]", "[SEP]"


def vocabulary() -> dict[str, int]:
    """Return the number of each token."""
    return {word: number for number, word in enumerate(_VOCABULARY.read_text().splitlines())}


def bert_tokenizer() -> Any:
    """Return a tokenizer that adds no special tokens and cuts nothing."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    tokenizer = Tokenizer(WordPiece(vocabulary(), unk_token="[UNK]"))  # noqa: S106 -- a token of text
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer
