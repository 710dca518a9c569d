"""Client of one OpenAI-compatible chat-completions endpoint: requests, replies and their cost.

Callers make the prompts and interpret the answers. No tools are ever offered, so a text can make the model do nothing
but write. Endpoints differ in the parameters they accept: a parameter that one refuses (400, 422, 500 or 501 that
names it) is left out or replaced from then on, so the difference costs one refused call.

    structured outputs  json_schema, else json_object, else only the prompt's words
    bound of the answer max_tokens, else max_completion_tokens (other servers ignore it: their answers would not end)
    temperature         else the endpoint's own
    seed                else none
    usage of a stream   include_usage, else counted here, roughly
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import openai
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.limits.rate_limiter import Call, EndpointLimits, RateLimiter
from graphtide.infra.models.openai.client import client_of
from graphtide.infra.models.openai.errors import EndpointErrors, costs_nothing
from graphtide.infra.models.replies.json_replies import MAX_TOKENS, Pieces, well_formed
from graphtide.infra.models.replies.schemas import Schema, sendable
from graphtide.infra.models.usage.accounting import Entry, Tokens, UsageAccounting
from graphtide.infra.models.usage.expectations import Expectations
from graphtide.streams.errors import Retryable
from graphtide.streams.tracing import SpanRole, span
from graphtide.streams.usage import Stage, payer

Body = dict[str, Any]
_REFUSED = frozenset({400, 422, 500, 501})
"""Statuses that may refuse a parameter: llama.cpp's server answers 500 to a response_format that it does not know."""


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Address and model of an endpoint, its limits, and the timeout, length and temperature of an answer."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 120.0
    max_output_tokens: int = 4096
    limits: EndpointLimits = field(default_factory=EndpointLimits)
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """A reply. `finish` is the endpoint's reason to stop: "stop", "length", "content_filter" …"""

    text: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Parameters that this endpoint is known to accept."""

    format: Literal["json_schema", "json_object", "none"] = "json_schema"
    bound: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True
    usage: bool = True

    def without(self, complaint: str) -> _Dialect | None:
        """Return the next variant to try after a refusal with `complaint`; None when it has another cause."""
        if "stream_options" in complaint or "include_usage" in complaint:
            return replace(self, usage=False) if self.usage else None
        if any(word in complaint for word in ("response_format", "json_schema", "json_object", "guided")):
            following: Mapping[str, Literal["json_object", "none"]] = {
                "json_schema": "json_object",
                "json_object": "none",
            }
            return replace(self, format=following[self.format]) if self.format in following else None
        if "max_tokens" in complaint and self.bound == "max_tokens":
            return replace(self, bound="max_completion_tokens")
        if "temperature" in complaint:
            return replace(self, temperature=False) if self.temperature else None
        if "seed" in complaint:
            return replace(self, seed=False) if self.seed else None
        return None


_SUPPORT = {
    "json_schema": "structured outputs (a JSON schema)",
    "json_object": "JSON mode, no schema",
    "none": "plain text, no JSON mode",
}


class OpenAIChat:
    """See the module. Owns its connections: the owner calls ``close``. All callers of the model may share it."""

    def __init__(self, endpoint: ChatEndpoint, accounts: UsageAccounting | None = None) -> None:
        self._endpoint = endpoint
        self._accounts = accounts or UsageAccounting()
        self._errors = EndpointErrors("language model", endpoint.base_url, endpoint.api_key, endpoint.timeout_s)
        self._gate = RateLimiter(endpoint.limits, self._errors.where)
        self._dialect = _Dialect()
        self._expected = Expectations(endpoint.max_output_tokens)
        self._client = client_of(endpoint.base_url, endpoint.api_key, endpoint.timeout_s)

    @property
    def model(self) -> str:
        return self._endpoint.model

    @property
    def where(self) -> str:
        """Return the endpoint's name for messages."""
        return self._errors.where

    @property
    def gate(self) -> RateLimiter:
        """Return its rate limiter."""
        return self._gate

    def trouble(self) -> str:
        """Return why the latest call failed; "" after a success."""
        return self._gate.trouble()

    @property
    def schema_support(self) -> str:
        """Return the endpoint's known schema support, for messages; before the first answer, the best."""
        return _SUPPORT[self._dialect.format]

    def __repr__(self) -> str:
        return f"OpenAIChat({self._endpoint.model!r} at {self.where})"

    async def close(self) -> None:
        """Close the connections. The client cannot be used afterwards."""
        await self._client.close()

    async def complete(
        self,
        messages: Sequence[Message],
        schema: Schema,
        stage: Stage = Stage.OTHER,
        *,
        urgent: bool = False,
        seed: int | None = None,
    ) -> ChatReply:
        """Return one answer of the given schema, as far as the endpoint enforces it: the caller checks it.

        An urgent call, for which a user waits, goes before the others. `seed` is passed on to the endpoint. Raises as
        ``infra.models.openai.errors`` defines, and Retryable for a reply that is not an answer. It costs one call;
        calls that the endpoint refused for an unknown parameter come on top, once in the life of this client.
        """
        while True:
            dialect = self._dialect
            body = self._body(messages, dialect) | _format(schema, dialect)
            body |= {"seed": seed} if seed is not None and dialect.seed else {}
            try:
                async with self._paid(messages, stage, urgent) as paid:
                    reply = await self._completion(body, dialect, paid)
                    paid.cost(reply)
                    return reply
            except _Unknown as refusal:
                self._learn(dialect, refusal)

    def _learn(self, dialect: _Dialect, refusal: _Unknown) -> None:
        """Use another variant from now on, unless another call has already changed it: then try that one."""
        if self._dialect == dialect:
            self._dialect = refusal.instead

    @asynccontextmanager
    async def _paid(self, messages: Sequence[Message], stage: Stage, urgent: bool = False) -> AsyncIterator[_Paid]:
        """Wait for the call's turn, reserve its expected cost, and settle it afterwards."""
        material = sum(count_tokens(message.text) for message in messages if message.role != "system")
        prompt = sum(count_tokens(message.text) for message in messages)
        expected = Tokens(prompt, self._expected.completion(stage, material))
        self._accounts.check()
        tokens = expected.prompt + expected.completion
        async with (
            self._gate.call(tokens, urgent=urgent, graph=payer().graph) as call,
            self._accounts.call(stage, self._endpoint.model, expected) as entry,
        ):
            paid = _Paid(call, entry)
            with span("llm", SpanRole.CLIENT, model=self._endpoint.model, stage=stage.value) as call_span:
                yield paid
                spent = entry.spent
                call_span.note(prompt_tokens=spent.prompt_tokens, completion_tokens=spent.completion_tokens)
            if paid.is_known:
                self._expected.learn(stage, material, entry.spent.completion_tokens)

    async def _completion(self, body: Body, dialect: _Dialect, paid: _Paid) -> ChatReply:
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):  # the client's own timeout restarts with every byte
                answer = await self._client.chat.completions.create(**body)
        except TimeoutError:
            raise self._errors.late() from None
        except ValueError as error:  # the client could not parse the JSON
            raise Retryable(f"{self.where} gave an answer that is not JSON ({type(error).__name__})") from None
        except openai.OpenAIError as error:
            raise self._refused(error, dialect, paid) from None  # the client's message may quote the key
        return self._reply(answer, paid.entry.spent.prompt_tokens)

    def _reply(self, answer: object, sent_tokens: int) -> ChatReply:
        """Return the checked reply: the client accepts any JSON as one."""
        try:
            completion = cast(ChatCompletion, answer)
            choice = completion.choices[0]
            text, refusal = well_formed(choice.message.content or ""), well_formed(choice.message.refusal or "")
            finish = choice.finish_reason or "stop"
            spent = completion.usage
            counted = (sent_tokens, count_tokens(text))
            tokens = _taken(spent) if spent else counted
            return ChatReply(text + "", finish + "", *tokens, refusal + "")
        except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
            raise Retryable(f"{self.where} returned a reply without an answer ({type(error).__name__})") from None

    async def stream(self, messages: Sequence[Message], stage: Stage = Stage.ANSWER) -> AsyncIterator[str | ChatReply]:
        """Yield the answer's text in pieces as they arrive, then the whole as a ChatReply. Goes before calls of
        ``complete``.

        Raises as ``complete`` does, also in the middle. Closing the iterator early ends the call.
        """
        while True:
            dialect = self._dialect
            try:
                async with self._paid(messages, stage, urgent=True) as paid:
                    async for item in self._streamed(self._body(messages, dialect), paid, dialect):
                        if isinstance(item, ChatReply):
                            paid.cost(item)
                        yield item
                return
            except _Unknown as refusal:
                self._learn(dialect, refusal)

    async def _streamed(self, body: Body, paid: _Paid, dialect: _Dialect) -> AsyncIterator[str | ChatReply]:
        body = body | {"stream": True} | ({"stream_options": {"include_usage": True}} if dialect.usage else {})
        pieces: list[str] = []
        arriving = Pieces()
        finish, tokens = "", (0, 0)
        try:
            async with asyncio.timeout(self._endpoint.timeout_s):
                started = await self._client.chat.completions.create(**body)
            async with cast(openai.AsyncStream[ChatCompletionChunk], started) as parts:
                async for part in parts:
                    piece, finish, tokens = _read(part, finish, tokens)
                    if whole := arriving.take(piece):
                        pieces.append(whole)
                        yield whole
        except TimeoutError:
            raise self._errors.late() from None
        except (ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
            raise Retryable(f"{self.where} streamed a reply without an answer ({type(error).__name__})") from None
        except openai.OpenAIError as error:
            raise self._refused(error, dialect, paid) from None
        if not finish:
            raise Retryable(f"{self.where} broke off in the middle of its answer")
        if rest := arriving.end():
            pieces.append(rest)
            yield rest
        text = "".join(pieces)
        counted = (paid.entry.spent.prompt_tokens, count_tokens(text))
        yield ChatReply(text, finish, *(tokens if any(tokens) else counted))

    def _body(self, messages: Sequence[Message], dialect: _Dialect) -> Body:
        sent = [{"role": message.role, "content": sendable(message.text)} for message in messages]
        body: Body = {"model": self._endpoint.model, "messages": sent}
        body[dialect.bound] = self._endpoint.max_output_tokens
        if dialect.temperature:
            body["temperature"] = self._endpoint.temperature
        return body

    def _refused(self, error: openai.OpenAIError, dialect: _Dialect, paid: _Paid) -> Exception:
        """Return the translated error, or _Unknown when the endpoint does not know a parameter."""
        if costs_nothing(error):
            paid.entry.free()
        if isinstance(error, openai.APIStatusError) and error.status_code in _REFUSED:
            instead = dialect.without(f"{self._errors.complaint(error)} {error.param or ''}")
            if instead is not None:
                return _Unknown(instead)
        return self._errors.translated(error)


@dataclass(slots=True)
class _Paid:
    """A call that has its turn, and is in the usage ledger."""

    call: Call
    entry: Entry
    is_known: bool = False

    def cost(self, reply: ChatReply) -> None:
        self.is_known = True
        self.call.cost(reply.prompt_tokens + reply.completion_tokens)
        self.entry.cost(reply.prompt_tokens, reply.completion_tokens)


class _Unknown(Exception):  # noqa: N818 - it never leaves this module
    """Refusal of a parameter by the endpoint; ``instead`` is the variant to try."""

    def __init__(self, instead: _Dialect) -> None:
        super().__init__("the endpoint does not know a parameter")
        self.instead = instead


def _format(schema: Schema, dialect: _Dialect) -> Body:
    if dialect.format == "json_schema":
        described = {"name": schema.name, "strict": True, "schema": schema.shape}
        return {"response_format": {"type": "json_schema", "json_schema": described}}
    return {"response_format": {"type": "json_object"}} if dialect.format == "json_object" else {}


def _taken(usage: CompletionUsage) -> tuple[int, int]:
    """Return the tokens of prompt and answer, as the endpoint counts them."""
    return min(int(usage.prompt_tokens), MAX_TOKENS), min(int(usage.completion_tokens), MAX_TOKENS)


def _read(part: ChatCompletionChunk, finish: str, tokens: tuple[int, int]) -> tuple[str, str, tuple[int, int]]:
    """Return a streamed part's text, the reason to stop and the usage so far."""
    if part.usage is not None:
        tokens = _taken(part.usage)
    if not part.choices:
        return "", finish, tokens
    choice = part.choices[0]
    return choice.delta.content or "", choice.finish_reason or finish, tokens
