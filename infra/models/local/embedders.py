"""The embedding models that run in this process, by the name in the settings.

`wordllama` is the default. `hashing` has no semantics and is for tests. Other names belong to an endpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from graphtide.infra.models.local.fastembed_embedder import FastembedEmbedder
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.models.local.minilm_embedder import MiniLmEmbedder
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.streams.model_ports import Embedder
from graphtide.streams.scheduling.work_pool import WorkPool

DEFAULT = "wordllama"
NAMES = ("wordllama", "minilm", "fastembed:NAME")
"""The names for messages."""
_FASTEMBED, _RECORDED_FASTEMBED = "fastembed:", "fastembed/"


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A local model: the name that a data folder records, its construction, and whether its vectors are cached."""

    recorded: str
    open: Callable[[WorkPool], Embedder]
    worth_caching: bool = False


_MODELS: Mapping[str, LocalModel] = {
    "wordllama": LocalModel("wordllama/l2-supercat-256", StaticEmbedder),
    "minilm": LocalModel("minilm/all-MiniLM-L6-v2-int8", MiniLmEmbedder, worth_caching=True),
    "hashing": LocalModel("offline-hashing-1-384", lambda pool: HashingEmbedder(pool=pool)),
}


def local_model(name: str) -> LocalModel | None:
    """Return the local model of this name in the settings, the default for an empty one; None if it is not local."""
    model = name.removeprefix(_FASTEMBED)
    if model != name and model:
        recorded = _RECORDED_FASTEMBED + model
        return LocalModel(recorded, lambda pool: FastembedEmbedder(model, pool), worth_caching=True)
    return _MODELS.get(name or DEFAULT)


def recorded_name(base_url: str, model: str) -> str:
    """Return the name that a data folder records for the model of the settings; "" if these name none."""
    if base_url:
        return f"openai/{model}"
    local = local_model(model)
    return local.recorded if local else ""


def setting_of(recorded: str) -> str:
    """Return the value of GRAPHTIDE_EMBEDDING_MODEL that selects the model which a data folder records."""
    known = {model.recorded: name for name, model in _MODELS.items()}
    if recorded.startswith(_RECORDED_FASTEMBED):
        return _FASTEMBED + recorded.removeprefix(_RECORDED_FASTEMBED)
    return known.get(recorded, recorded.removeprefix("openai/"))
