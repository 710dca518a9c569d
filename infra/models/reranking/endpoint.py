"""Reranker on an endpoint with the /rerank interface of Cohere and Jina, which vLLM and Infinity serve, or of TEI.

It does not retry: a question that cannot be reranked has an answer without. Invariants: there is one finite score for
each text, by index; no message, name or repr contains the key. `infra.models.openai.errors` classifies refusals; an
answer without these scores is Retryable.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import httpx
import openai

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.limits.rate_limiter import EndpointLimits, RateLimiter
from graphtide.infra.models.openai.client import client_of
from graphtide.infra.models.openai.errors import EndpointErrors
from graphtide.streams.errors import Retryable
from graphtide.streams.json_parts import escape_surrogates
from graphtide.streams.tracing import SpanRole, span
from graphtide.streams.usage import payer

Shape = Literal["cohere", "tei"]
"""`cohere`: {"model", "query", "documents", "top_n"} and {"results": [{"index", "relevance_score"}]}. `tei`: {"query",
"texts", "truncate"} and [{"index", "score"}], of text-embeddings-inference."""

REPLY_BYTES = 1 << 20
"""Maximum length of an answer beside the texts, which some servers return with their scores."""
MAX_ESCAPED_BYTES = 12
"""Bytes of the longest escaped character in JSON, a surrogate pair."""


@dataclass(frozen=True, slots=True)
class RerankEndpoint:
    """Address and model of an endpoint, and its limits; `/rerank` is added to the address."""

    base_url: str
    model: str = ""
    api_key: str = field(default="", repr=False)
    shape: Shape = "cohere"
    timeout_s: float = 5.0
    limits: EndpointLimits = field(default_factory=EndpointLimits)


class EndpointReranker:
    """The Reranker on an endpoint (see the module). Owns its connections: the owner calls ``close``."""

    def __init__(self, endpoint: RerankEndpoint) -> None:
        self._endpoint = endpoint
        self._errors = EndpointErrors("rerank", endpoint.base_url, endpoint.api_key, endpoint.timeout_s)
        self._gate = RateLimiter(endpoint.limits, self._errors.where)
        self._client = client_of(endpoint.base_url, endpoint.api_key, endpoint.timeout_s)

    @property
    def name(self) -> str:
        return f"rerank/{self._endpoint.model or self._endpoint.shape}"

    @property
    def gate(self) -> RateLimiter:
        """Return its rate limiter."""
        return self._gate

    def __repr__(self) -> str:
        return f"EndpointReranker({self._endpoint.model!r} at {self._errors.where})"

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """See `Reranker.rerank`. One call for all texts: the caller bounds their number."""
        if not texts:
            return ()
        body = self._body(escape_surrogates(question), [escape_surrogates(text) for text in texts])
        tokens = sum(map(count_tokens, texts))
        async with self._gate.call(tokens, urgent=True, graph=payer().graph):
            try:
                with span("rerank call", SpanRole.CLIENT, model=self._endpoint.model, texts=len(texts)):
                    response = await self._client.post("/rerank", cast_to=httpx.Response, body=body)
            except openai.OpenAIError as error:
                raise self._errors.translated(error) from None  # the driver's message may quote the key
            try:
                return _scores(_loaded(response.content, texts), len(texts))
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
                reason = f"{type(error).__name__}: {error}"[:80]
                raise Retryable(f"{self._errors.where} returned a reply without scores: {reason}") from error

    async def close(self) -> None:
        """Close the connections. The reranker cannot be used afterwards."""
        await self._client.close()

    def _body(self, question: str, texts: list[str]) -> dict[str, object]:
        if self._endpoint.shape == "tei":
            return {"query": question, "texts": texts, "truncate": True}
        named = {"model": self._endpoint.model} if self._endpoint.model else {}
        return {**named, "query": question, "documents": texts, "top_n": len(texts), "return_documents": False}


def _loaded(content: bytes, texts: Sequence[str]) -> object:
    """Return the JSON of an answer. Raises ValueError, for one that is longer than escaped texts and scores are, too:
    its parsing would delay the event loop.
    """
    limit = REPLY_BYTES + MAX_ESCAPED_BYTES * sum(map(len, texts))
    if len(content) > limit:
        raise ValueError(f"it has {len(content)} bytes, more than {limit}")
    return json.loads(content)


def _scores(answer: object, count: int) -> list[float]:
    """Return the scores by index. Raises ValueError, TypeError, KeyError or OverflowError for another answer."""
    rows = answer["results"] if isinstance(answer, dict) else answer
    if not isinstance(rows, list) or len(rows) != count:
        raise ValueError(f"expected {count} results")
    scores = [math.nan] * count
    for row in rows:
        index, score = row["index"], row["relevance_score"] if "relevance_score" in row else row["score"]
        if type(index) is not int or not 0 <= index < count or isinstance(score, bool):
            raise ValueError(f"{str(index)[:20]} is no index of {count} texts")
        scores[index] = float(score)
    if not all(map(math.isfinite, scores)):
        raise ValueError("a text has no finite score, or two")
    return scores
