"""A user's own functions as the model ports: extraction, embedding and answering.

Each may be an ordinary function, which then runs in a thread, or a coroutine function. The name of an own embedder is
kept with the data folder, so a folder cannot be opened with vectors of another one.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphtide.graph.text.quotation import neutralise
from graphtide.graph.text.storable import storable
from graphtide.infra.models.replies.citation_checker import CitationChecker
from graphtide.services.model_wiring import OwnModels
from graphtide.streams.errors import GraphtideError, Rejected, Retryable
from graphtide.streams.model_ports import (
    ContextPart,
    ContextPassage,
    ExtractedEntity,
    ExtractedRelation,
    ExtractionResult,
    Generated,
    PartAnswer,
    citable,
)


class Extracting(Protocol):
    """Return `{"entities": [{"name", "type"?, "description"?}], "facts": [{"subject", "predicate", "object", ...}]}`.

    Called with one passage of a document and the document's title. Names that a fact uses and `entities` lacks are
    entities, too.
    """

    def __call__(self, text: str, title: str, /) -> Mapping[str, Any] | Awaitable[Mapping[str, Any]]: ...


class Embedding(Protocol):
    """Return one vector per text, (n, d), always of the same d; the vectors are scaled to unit length."""

    def __call__(self, texts: Sequence[str], /) -> ArrayLike | Awaitable[ArrayLike]: ...


class Answering(Protocol):
    """Return the answer to a question; `[n]` in it cites `passages[n - 1]`.

    What reads like a citation or a link in the documents is given as text: `[2]` as `(2)`, `[a](b)` as `[a] (b)`.
    """

    def __call__(self, question: str, passages: Sequence[ContextPassage], /) -> str | Awaitable[str]: ...


class PassageScoring(Protocol):
    """Return one score for each text, higher for one that is more relevant to the question."""

    def __call__(self, question: str, texts: Sequence[str], /) -> ArrayLike | Awaitable[ArrayLike]: ...


_Function: TypeAlias = Callable[..., Any]


def own_models(
    extractor: Extracting | None,
    embedder: Embedding | None,
    generator: Answering | None,
    reranker: PassageScoring | None = None,
) -> OwnModels:
    """Return the model ports on a user's functions; None leaves one to the settings."""
    return OwnModels(
        None if extractor is None else CallableExtractor(extractor),
        None if embedder is None else CallableEmbedder(embedder),
        None if generator is None else CallableGenerator(generator),
        None if reranker is None else CallableReranker(reranker),
    )


class CallableExtractor:
    """The Extractor port on a function of the user."""

    def __init__(self, function: Extracting) -> None:
        self._function = function

    @property
    def name(self) -> str:
        return _name_of(self._function)

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See Extractor.extract. Raises Rejected when the function returns something else than documented."""
        found = await _call(self._function, "extractor", text, title)
        try:
            return _extraction(found)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Rejected(
                f"the extractor {self.name} returned an extraction that cannot be read: {error!r}"
            ) from error


class CallableEmbedder:
    """The Embedder port on a function of the user; the dimension is that of its first vectors."""

    def __init__(self, function: Embedding) -> None:
        self._function = function
        self._dimensions = 0

    @property
    def name(self) -> str:
        return _name_of(self._function)

    @property
    def dimensions(self) -> int:
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See Embedder.embed. Raises Rejected when the vectors are not (n, d) finite numbers, or d changes.

        Only the document or question whose texts they are fails: another one may get right vectors.
        """
        if not texts:
            return np.empty((0, self._dimensions), dtype=np.float32)
        vectors = self._numbers(await _call(self._function, "embedder", list(texts)))
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            found = f"returned shape {vectors.shape} for {len(texts)} texts"
            raise self._wrong(found, "one vector for each text, (n, d)")
        largest = np.abs(vectors).max(axis=1, keepdims=True)
        if not np.isfinite(largest).all() or not largest.all():
            raise self._wrong("returned a vector that is zero or not finite", "finite numbers that are not all zero")
        if self._dimensions and vectors.shape[1] != self._dimensions:
            found = f"returned {vectors.shape[1]} dimensions after {self._dimensions}"
            raise self._wrong(found, "vectors of one length; another length needs another name and data folder")
        self._dimensions = vectors.shape[1]
        scaled = vectors / largest  # so that no square overflows
        unit: NDArray[np.float32] = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _numbers(self, made: object) -> NDArray[np.float64]:
        try:
            found = np.asarray(made)
            if found.dtype.kind == "c":
                raise TypeError("complex numbers")
            return found.astype(np.float64)
        except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # as a tensor with a gradient raises
            raise self._wrong(
                f"returned no vectors of numbers ({error})"[:300], "a list of vectors of numbers"
            ) from error

    def _wrong(self, found: str, remedy: str) -> Rejected:
        """Return the error for vectors that cannot be used."""
        return Rejected(f"the embedder {self.name} {found}: return {remedy}, and publish a failed document again")


class CallableGenerator:
    """The Generator port on a function of the user: whole answers, whose citations are checked."""

    def __init__(self, function: Answering) -> None:
        self._function = function

    @property
    def name(self) -> str:
        return _name_of(self._function)

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """See Generator.answer."""
        passages = citable(context, parts)
        text = await _call(self._function, "generator", question, tuple(map(_quotable, passages)))
        if not isinstance(text, str):
            raise Rejected(f"the generator {self.name} returned a {type(text).__name__}: return the answer as a string")
        checker = CitationChecker(len(passages))
        checked = checker.take(text) + checker.end()
        return Generated(checked, checker.cited)

    async def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        """See Generator.stream: the answer in one piece."""
        whole = await self.answer(question, context, parts)
        yield whole.text
        yield whole

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        """See Generator.answer_part. An own function gives no rating: every answer that cites counts in full."""
        whole = await self.answer(question, part.sources)
        return PartAnswer(whole.text, 100 if whole.cited else 0, whole.cited)


class CallableReranker:
    """The Reranker port on a function of the user."""

    def __init__(self, function: PassageScoring) -> None:
        self._function = function

    @property
    def name(self) -> str:
        return _name_of(self._function)

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """See Reranker.rerank. Raises Rejected when the function does not return one finite number for each text."""
        made = await _call(self._function, "reranker", question, tuple(texts))
        try:
            scores = np.asarray(made, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise Rejected(f"the reranker {self.name} returned no numbers: {error}"[:300]) from error
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise Rejected(
                f"the reranker {self.name} returned shape {scores.shape} for {len(texts)} texts: return one finite"
                " number for each"
            )
        found: list[float] = scores.tolist()
        return found


def _quotable(passage: ContextPassage) -> ContextPassage:
    """Return the passage without marks and links in its texts, so that a quotation of it cites nothing."""
    facts, outdated = map(neutralise, passage.facts), map(neutralise, passage.outdated)
    title, text = neutralise(passage.title), neutralise(passage.text)
    return replace(passage, title=title, text=text, facts=tuple(facts), outdated=tuple(outdated))


async def _call(function: _Function, role: str, *arguments: object) -> Any:
    """Call a function of the user, in a thread unless it is a coroutine function. Raises Retryable for its errors."""
    try:
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
            return await function(*arguments)
        made = await asyncio.to_thread(function, *arguments)
        return await made if inspect.isawaitable(made) else made
    except (asyncio.CancelledError, GraphtideError):
        raise
    except Exception as error:
        raise Retryable(f"the {role} {_name_of(function)} failed: {type(error).__name__}: {error}"[:500]) from error


def _name_of(function: _Function) -> str:
    """The name of a model keys its cache: that of the object, if it has one, else where the function is defined."""
    named = getattr(function, "name", None)
    if isinstance(named, str) and named:
        return named
    module = getattr(function, "__module__", type(function).__module__)
    return f"{module}.{getattr(function, '__qualname__', type(function).__qualname__)}"


def _extraction(found: Mapping[str, Any]) -> ExtractionResult:
    entities = {
        (row["name"], str(row.get("type", ""))): ExtractedEntity(
            row["name"], str(row.get("type", "")), str(row.get("description", ""))
        )
        for row in found.get("entities", ())
    }
    relations = tuple(_relation(row) for row in found.get("facts", ()))
    known = {name for name, _ in entities}
    for end in (end for relation in relations for end in (relation.subject, relation.object)):
        if end not in known:
            known.add(end)
            entities[end, ""] = ExtractedEntity(end, "")
    for name in known:
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"{name!r} is not a name")
    _check_texts(text for each in entities.values() for text in (each.name, each.type, each.description))
    _check_texts(text for each in relations for text in (each.predicate, each.description))
    return ExtractionResult(tuple(entities.values()), relations)


def _check_texts(texts: Iterable[str]) -> None:
    """Raise ValueError for a text that cannot be stored: the document fails, instead of every attempt to write it."""
    for text in texts:
        if storable(text) != text:
            raise ValueError("a text has a NUL character or half of a surrogate pair")


def _relation(row: Mapping[str, Any]) -> ExtractedRelation:
    weight = float(row.get("weight", 1.0))
    if not 0 < weight <= 1:
        raise ValueError(f"the weight {weight} is not above 0 and at most 1")
    return ExtractedRelation(
        row["subject"],
        str(row["predicate"]),
        row["object"],
        str(row.get("description", "")),
        weight,
        valid_from=row.get("valid_from") or None,
        valid_to=row.get("valid_to") or None,
    )
