"""The static embedder beyond the contract: exact sums, no network, similarity of meaning, bounded pieces."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save
from tokenizers import Tokenizer

from graphtide.graph._tokens import StaticModel
from graphtide.infra.models.local import static_embedder
from graphtide.infra.models.local.static_embedder import PACKAGE, TOKENIZER, WEIGHTS, StaticEmbedder
from graphtide.streams.errors import Broken

PROGRAM = """
import asyncio, socket, sys
def refuse(*_, **__): raise AssertionError("the network was used")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
from graphtide.infra.models.local.static_embedder import StaticEmbedder
rows = asyncio.run(StaticEmbedder().embed(sys.argv[1:]))
loaded = {"wordllama", "requests", "huggingface_hub", "torch"} & set(sys.modules)
assert not loaded, loaded
print(rows.tobytes().hex())
"""
TEXTS = ["Ada Lovelace wrote the first program.", "", "naïve café 日本語", "the drill"]


@pytest.mark.thorough
@given(st.lists(st.text(max_size=60), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_static_vector_is_the_same_to_the_last_bit_in_every_batch(texts: list[str]) -> None:
    """embed([a, b]) equals [embed(a), embed(b)]."""
    embedder = StaticEmbedder()

    async def both() -> tuple[bytes, bytes]:
        alone = [await embedder.embed([text]) for text in texts]
        return (await embedder.embed(texts)).tobytes(), np.concatenate(alone).tobytes()

    together, apart = asyncio.run(both())
    assert together == apart


def test_static_vectors_have_the_same_bits_in_a_process_without_network() -> None:
    """Weights and tokenizer come from the installed package, whose code is not imported."""
    elsewhere = subprocess.run(
        [sys.executable, "-c", PROGRAM, *TEXTS], capture_output=True, text=True, check=True, timeout=120
    )
    assert asyncio.run(StaticEmbedder().embed(TEXTS)).tobytes().hex() == elsewhere.stdout.strip()


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The tokenizer of the package, as Hugging Face's `tokenizers` reads it."""
    found = importlib.util.find_spec(PACKAGE)
    assert found is not None and found.origin is not None
    return Tokenizer.from_file(str(Path(found.origin).parent / TOKENIZER))


WORDS = [
    "the",
    " ",
    "  ",
    "\n",
    "\u2581",
    "é",
    "日本",
    "😀",
    "\U0010fffd",
    "\x00",
    "ing",
    "'s",
    "1987",
    "",
    "strawberries",
]
SPECIAL = ["<s>", "</s>", "<unk>", "<", "s>", "<0x41>"]


@given(st.one_of(st.text(max_size=80), st.lists(st.sampled_from(WORDS), max_size=30).map("".join)))
@settings(max_examples=120, deadline=None)
def test_kernel_has_the_tokens_of_the_reference(tokenizer: Tokenizer, text: str) -> None:
    """A text without special tokens gives the ids of `tokenizers`, bytes of unknown characters included."""
    plain = text.encode("utf-8", "replace").decode().replace("<", "")
    assert static_embedder._load().kernel.tokens(plain) == tokenizer.encode(plain, add_special_tokens=False).ids


@given(st.lists(st.sampled_from(WORDS + SPECIAL), max_size=30).map("".join))
@settings(max_examples=120, deadline=None)
def test_static_vector_is_that_of_the_reference(tokenizer: Tokenizer, text: str) -> None:
    """The vector is the sum of the rows of the ids of `tokenizers`, special tokens included, divided by its length."""
    table = static_embedder._load().table
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    total = table.take(ids or [0], axis=0).sum(axis=0, dtype=np.float64)
    unit = (total / math.sqrt(math.fsum((total * total).tolist()))).astype(np.float32)
    assert (static_embedder._vector(text) == unit).all()


def test_pieces_of_a_long_text_are_tokenized_apart(tokenizer: Tokenizer) -> None:
    """Each piece begins with a space of its own, as a text does."""
    text = "straw" * 2_000
    pieces = [text[start : start + 4_096] for start in range(0, len(text), 4_096)]
    ids = [token for piece in pieces for token in tokenizer.encode(piece, add_special_tokens=False).ids]
    assert (static_embedder._vector(text) == static_embedder._load().kernel.vector(ids)).all()


@given(st.lists(st.floats(2**-70, 2**70, width=32), min_size=1, max_size=40))
@settings(max_examples=120, deadline=None)
def test_kernel_rounds_the_sum_of_squares_once(values: list[float]) -> None:
    """The length of a sum is that of math.fsum, whatever the sizes of its squares."""
    row = np.array([values], np.float32)
    squares = row[0].astype(np.float64) ** 2
    unit = (row[0].astype(np.float64) / math.sqrt(math.fsum(squares.tolist()))).astype(np.float32)
    kernel = StaticModel({}, np.empty((0, 3), np.int32), row, 0)
    assert (kernel.vector([0]) == unit).all()


@pytest.mark.parametrize("token", [-1, 2, 1 << 40])
def test_kernel_refuses_a_token_without_a_vector(token: int) -> None:
    """A vocabulary, a merge and a piece may name rows of the table alone."""
    table = np.ones((2, 4), np.float32)
    none = np.empty((0, 3), np.int32)
    with pytest.raises(ValueError, match=f"token {token} has no vector"):
        StaticModel({"a": token}, none, table, 0)
    with pytest.raises(ValueError, match=f"token {token} has no vector"):
        StaticModel({}, none, table, 0).vector([token])
    if token < 1 << 31:
        with pytest.raises(ValueError, match=f"token {token} has no vector"):
            StaticModel({}, np.array([[0, 1, token]], np.int32), table, 0)


async def test_static_sum_does_not_depend_on_the_order_of_the_tokens() -> None:
    """The float64 sums of the table's rows are exact: shuffled rows and Python integers give the same total."""
    table = static_embedder._load().table
    scaled = table.astype(np.float64) * 2**24
    assert (scaled == np.rint(scaled)).all()
    assert np.abs(table).max() < 16
    seed = np.random.SeedSequence().entropy
    print("seed", seed)
    rows = np.random.default_rng(seed).integers(0, len(table), 5_000)
    whole = sum(scaled[row].astype(np.int64).astype(object) for row in rows)
    assert (table[rows].sum(axis=0, dtype=np.float64) * 2**24 == np.array(whole, np.float64)).all()


async def test_static_embedder_finds_texts_alike_that_share_meaning_without_words() -> None:
    """A paraphrase is nearer than an unrelated text."""
    asked, near, far = await StaticEmbedder().embed(
        ["Who repaired the car?", "A mechanic fixed the vehicle.", "The recipe needs three eggs."]
    )
    assert asked @ near > asked @ far + 0.1


async def test_static_embedder_reads_all_of_a_long_text() -> None:
    """The words after the first piece count, too."""
    begin = "The harbour was quiet. " * 400
    whole, start = await StaticEmbedder().embed([begin + "Zebras gallop over the savannah. " * 200, begin])
    assert whole @ start < 0.99


@pytest.mark.parametrize("damage", ["missing", "truncated", "tokenizer"])
def test_static_embedder_names_the_remedy_when_its_package_is_unusable(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package and a damaged file are Broken, with the command that repairs them."""
    place = tmp_path / PACKAGE / "__init__.py"
    (tmp_path / PACKAGE / WEIGHTS).parent.mkdir(parents=True)
    weights = b"\x08\0\0\0\0\0\0\0"
    if damage == "tokenizer":
        weights = save({"vectors": np.zeros((2, 4), np.float16)})
        (tmp_path / PACKAGE / TOKENIZER).parent.mkdir(parents=True)
        stated = {"vocab": {"a": 0}, "merges": ["a b"]}
        (tmp_path / PACKAGE / TOKENIZER).write_text(json.dumps({"model": stated, "added_tokens": []}))
    (tmp_path / PACKAGE / WEIGHTS).write_bytes(weights)
    find: Callable[[str], ModuleSpec | None] = importlib.util.find_spec
    spec = None if damage == "missing" else ModuleSpec(PACKAGE, None, origin=str(place))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == PACKAGE else find(name))
    static_embedder._load.cache_clear()
    with pytest.raises(Broken, match=f"pip install .*{PACKAGE}"):
        StaticEmbedder()
