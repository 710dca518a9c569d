"""Embedder on any endpoint with the OpenAI embeddings API, through AsyncOpenAI.

It does not retry: the client's own retries are off, and failures are classified once, here, so that the caller alone
counts attempts. Invariants: every vector is checked (one for each text, by index, of the one dimension of this
endpoint, finite, not zero) and of unit length; no message, name or repr contains the key.

``infra.models.openai.errors`` classifies refusals; an answer that fails a check above is Retryable, and Broken when its
dimension differs from before.
"""

import asyncio
import base64
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import numpy as np
import openai
from numpy.typing import NDArray

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.limits.rate_limiter import EndpointLimits, RateLimiter
from graphtide.infra.models.openai.client import client_of
from graphtide.infra.models.openai.errors import EndpointErrors, costs_nothing
from graphtide.infra.models.replies.json_replies import MAX_TOKENS
from graphtide.infra.models.usage.accounting import Tokens, UsageAccounting
from graphtide.streams.errors import Broken, Retryable
from graphtide.streams.tracing import SpanRole, span
from graphtide.streams.usage import Stage, payer

_PROBE = "dimension"


@dataclass(frozen=True, slots=True)
class EmbeddingEndpoint:
    """Address and model of an endpoint, and its limits. ``dimensions`` None: taken from the first answer."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    dimensions: int | None = None
    timeout_s: float = 60.0
    batch_texts: int = 256
    batch_chars: int = 200_000
    limits: EndpointLimits = field(default_factory=EndpointLimits)


class OpenAIEmbedder:
    """The Embedder on an OpenAI-compatible endpoint (see the module). Owns its connections: the owner calls
    ``close``.
    """

    def __init__(self, endpoint: EmbeddingEndpoint, accounts: UsageAccounting | None = None) -> None:
        self._endpoint = endpoint
        self._accounts = accounts or UsageAccounting()
        self._dimensions = endpoint.dimensions or 0
        self._errors = EndpointErrors("embedding", endpoint.base_url, endpoint.api_key, endpoint.timeout_s)
        self._gate = RateLimiter(endpoint.limits, self._errors.where)
        self._client = client_of(endpoint.base_url, endpoint.api_key, endpoint.timeout_s)

    @property
    def name(self) -> str:
        """Return the model's name alone: a model keeps its vectors when its address changes."""
        return f"openai/{self._endpoint.model}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def gate(self) -> RateLimiter:
        """Return its rate limiter."""
        return self._gate

    def trouble(self) -> str:
        """Return why the latest call failed; "" after a success."""
        return self._gate.trouble()

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._endpoint.model!r} at {self._errors.where})"

    async def probe(self) -> int:
        """Return the dimension of the vectors, after one call if it is not known yet. Raises as ``embed`` does."""
        if not self._dimensions:
            await self.embed([_PROBE])
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`. Sends up to `batch_texts` texts per call, several calls at a time; all or nothing."""
        if not texts:
            return np.empty((0, self._dimensions), np.float32)
        parts = await _all_or_none([self._call(batch) for batch in self._batches(texts)])
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise Broken(f"{self._errors.where} returned vectors of different dimensions in one call: {sorted(widths)}")
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    async def close(self) -> None:
        """Close the connections. The embedder cannot be used afterwards."""
        await self._client.close()

    def _batches(self, texts: Sequence[str]) -> list[list[str]]:
        batches: list[list[str]] = [[]]
        size = 0
        for text in texts:
            full = len(batches[-1]) >= self._endpoint.batch_texts or size + len(text) > self._endpoint.batch_chars
            if full and batches[-1]:
                batches.append([])
                size = 0
            batches[-1].append(_sendable(text))
            size += len(text)
        return batches

    async def _call(self, texts: list[str]) -> NDArray[np.float32]:
        body: dict[str, object] = {"model": self._endpoint.model, "input": texts, "encoding_format": "base64"}
        if self._endpoint.dimensions is not None:
            body["dimensions"] = self._endpoint.dimensions
        tokens = sum(map(count_tokens, texts))
        self._accounts.check()
        async with (
            self._gate.call(tokens, graph=payer().graph),
            self._accounts.call(Stage.EMBED, self._endpoint.model, Tokens(tokens)) as entry,
        ):
            try:
                # Not embeddings.create: it walks every text and builds an object for every vector, which costs as much
                # CPU time as the rest of the call.
                with span("embedding call", SpanRole.CLIENT, model=self._endpoint.model, texts=len(texts)):
                    response = await self._client.post("/embeddings", cast_to=httpx.Response, body=body)
            except openai.OpenAIError as error:
                if costs_nothing(error):
                    entry.free()
                raise self._errors.translated(error) from None  # the driver's message may quote the key
            answer = _loaded(response.content)
            entry.cost(_usage(answer, tokens), 0)
            return self._checked(answer, len(texts))

    def _checked(self, answer: object, count: int) -> NDArray[np.float32]:
        try:
            rows = _rows(answer, count)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise Retryable(f"{self._errors.where} returned a reply without vectors: {_short(error)}") from error
        width = rows.shape[1]
        if self._dimensions and width != self._dimensions:
            raise Broken(f"{self._errors.where} returned vectors of {width} dimensions instead of {self._dimensions}")
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        if not np.isfinite(norms).all() or not (norms > 0).all():
            raise Retryable(f"{self._errors.where} returned a vector that is zero or not finite")
        self._dimensions = width
        unit: NDArray[np.float32] = (rows / norms[:, None]).astype(np.float32)
        return unit


def _sendable(text: str) -> str:
    """Return valid input of an endpoint: UTF-8 (no lone surrogates), never the empty string, which OpenAI refuses."""
    return text.encode("utf-8", "replace").decode() if text.strip() else " "


def _loaded(content: bytes) -> object:
    """Return the answer's JSON, or a description of its error."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        return error


def _usage(answer: object, counted: int) -> int:
    """Return the tokens in the answer's usage, or `counted` without one."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return min(tokens, MAX_TOKENS) if isinstance(tokens, int) and tokens >= 0 else counted


def _rows(answer: object, count: int) -> NDArray[np.float64]:
    """Return the vectors of an answer as ``(count, d) float64``, by their index. Raises ValueError and its
    subclasses.
    """
    if isinstance(answer, Exception):
        raise answer
    data = cast(list[dict[str, Any]], cast(dict[str, Any], answer)["data"])
    if len(data) != count:
        raise ValueError(f"{len(data)} vectors for {count} texts")
    by_index = {int(item.get("index", place)): item["embedding"] for place, item in enumerate(data)}
    if sorted(by_index) != list(range(count)):
        raise ValueError("the indices of its vectors are not those of the texts")
    vectors = [_vector(by_index[index]) for index in range(count)]
    if len({len(vector) for vector in vectors}) != 1 or not len(vectors[0]):
        raise ValueError("its vectors differ in length, or are empty")
    return np.stack(vectors)


def _vector(value: object) -> NDArray[np.float64]:
    """Return one vector, from base64 of little-endian float32 or a list of numbers (the only form of some servers)."""
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), "<f4").astype(np.float64)
    if not isinstance(value, list):
        raise TypeError("a vector is neither base64 nor a list")
    return np.asarray(value, np.float64).reshape(-1)


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"


async def _all_or_none(calls: list[Coroutine[Any, Any, NDArray[np.float32]]]) -> list[NDArray[np.float32]]:
    """Return the results of all calls; the first failure cancels the others, waits for them, and is raised
    unchanged.
    """
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
