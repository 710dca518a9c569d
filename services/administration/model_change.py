"""Models of a service whose data folder has another embedding model than the settings: the old one until a switch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from graphtide.infra.models.cache.embeddings import MemoisedEmbedder
from graphtide.infra.models.local.embedders import local_model, recorded_name, setting_of
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.switchable_embedder import SwitchableEmbedder
from graphtide.infra.models.usage.accounting import UsageAccounting
from graphtide.infra.settings import Settings
from graphtide.infra.sqlite.administration.embedding_model import EmbeddingModel
from graphtide.services.model_wiring import ModelSet, cached_embedder, open_embedder, question_embedder
from graphtide.streams.errors import Broken
from graphtide.streams.model_ports import Embedder

_ENDPOINT = "openai/"


@dataclass(frozen=True, slots=True)
class ModelChange:
    """The models of the service, of which `switch` replaces the embedder; the embedder of questions; the new one of
    documents; and the names of the models for `stats`.
    """

    models: ModelSet
    questions: Embedder
    documents: Embedder
    old: str
    names: dict[str, str]
    switch: Callable[[], None]


def settings_of_old_model(settings: Settings, recorded: EmbeddingModel | None) -> Settings | None:
    """Return the settings with the model of the data folder; None if it has the model of the settings, or none.

    Raises Broken for a model that these settings cannot open.
    """
    if recorded is None or recorded.name == recorded_name(settings.embedding_base_url, settings.embedding_model):
        return None
    name = setting_of(recorded.name)
    local = local_model(name)
    if local is not None and local.recorded == recorded.name:
        return settings.model_copy(update={"embedding_base_url": "", "embedding_model": name})
    if recorded.name.startswith(_ENDPOINT) and settings.embedding_base_url:
        return settings.model_copy(update={"embedding_model": name})
    raise Broken(
        f"{settings.data} was embedded with {recorded.name}, whose endpoint the settings do not name, so that it cannot"
        f" answer meanwhile: stop the service and run graphtide reembed --data {settings.data}"
    )


async def open_change(
    models: ModelSet, settings: Settings, accounts: UsageAccounting, stack: AsyncExitStack
) -> ModelChange:
    """Open the model of the settings beside the old one of `models`; the stack closes it."""
    old, new = models.embedder, open_embedder(settings, accounts, stack, models.reading.pool)
    cached = cached_embedder(settings, new, models.memos.vectors, None) if models.memos else new
    if isinstance(cached, MemoisedEmbedder):
        stack.push_async_callback(cached.close)
    sentences = SwitchableEmbedder(old, new)
    documents = SwitchableEmbedder(models.reading.embedder, cached)
    questions = SwitchableEmbedder(
        await stack.enter_async_context(question_embedder(old)), await stack.enter_async_context(question_embedder(new))
    )
    names = {**models.names, "embedding": old.name}

    def switch() -> None:
        for each in (sentences, documents, questions):
            each.switch()
        names["embedding"] = new.name

    generator = models.generator
    if isinstance(generator, ExtractiveGenerator):
        generator = ExtractiveGenerator(sentences, reader=generator.reader, pool=models.asking)
    reading = replace(models.reading, embedder=documents)
    shown = new if hasattr(new, "gate") else old  # the health of an endpoint, if one of them is one
    changing = replace(models, reading=reading, generator=generator, embedder=shown)
    return ModelChange(changing, questions, cached, old.name, names, switch)
