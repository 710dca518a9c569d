"""The static embedder beyond the contract: exact sums, no network, similarity of meaning, bounded pieces."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.infra.models.local import static_embedder
from graphtide.infra.models.local.static_embedder import PACKAGE, WEIGHTS, StaticEmbedder
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


async def test_static_sum_does_not_depend_on_the_order_of_the_tokens() -> None:
    """The float64 sums of the table's rows are exact: shuffled rows and Python integers give the same total."""
    table = static_embedder._load()[1]
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


@pytest.mark.parametrize("damage", ["missing", "truncated"])
def test_static_embedder_names_the_remedy_when_its_package_is_unusable(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing package and a damaged file are Broken, with the command that repairs them."""
    place = tmp_path / PACKAGE / "__init__.py"
    (tmp_path / PACKAGE / WEIGHTS).parent.mkdir(parents=True)
    (tmp_path / PACKAGE / WEIGHTS).write_bytes(b"\x08\0\0\0\0\0\0\0")
    find: Callable[[str], ModuleSpec | None] = importlib.util.find_spec
    spec = None if damage == "missing" else ModuleSpec(PACKAGE, None, origin=str(place))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == PACKAGE else find(name))
    static_embedder._load.cache_clear()
    with pytest.raises(Broken, match=f"pip install .*{PACKAGE}"):
        StaticEmbedder()
