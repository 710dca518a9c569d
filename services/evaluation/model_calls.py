"""Calls of the language models that write and judge answers: journaled, within the budget, repeated after failures.

Invariants: one request is paid for once, however often it is made or the process is killed; a reply is used only as
its parser accepts it. A reply that is cut off or malformed is requested once more with its error, unless the request
forbids that; then it counts as a failure of its class. Failures of the endpoint are retried; when it stays unreachable,
the evaluation stops, because a result without these calls would be another one.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.openai.chat import ChatReply, Message, OpenAIChat
from graphtide.infra.models.prompts.templates import Prompt
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.accounting import Price
from graphtide.services.evaluation.budget import PROMPT_MARGIN, EvaluationBudget
from graphtide.services.evaluation.journal import EvaluationJournal, journal_key
from graphtide.services.evaluation.retries import CallRetries
from graphtide.streams.errors import Rejected
from graphtide.streams.usage import Bill, BillingContext, ModelUsage, Stage, paid_by

T = TypeVar("T")
_SHOWN_AGAIN_CHARS = 4_000


class ReplyFailure(StrEnum):
    """The ways in which a model's reply cannot be used."""

    MALFORMED = "malformed"
    CUT_OFF = "cut off"
    REFUSED = "refused"


class MalformedVerdictError(Exception):
    """A reply that its parser does not accept; the message is for the model."""


@dataclass(frozen=True, slots=True)
class ModelRequest(Generic[T]):
    """A request with the parser of its reply, which raises MalformedVerdictError. `purpose` is its row of the usage."""

    purpose: str
    prompt: Prompt
    material: str
    schema: Schema
    parse: Callable[[dict[str, Any]], T]
    repetition: int = 0
    once: bool = False


@dataclass(frozen=True, slots=True)
class ModelResult(Generic[T]):
    """The parsed reply, or the class of its failure."""

    value: T | None
    failure: ReplyFailure | None = None


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Price and longest reply of a model, its temperature, the seed of the first repetition, and retries."""

    price: Price
    max_output_tokens: int
    temperature: float = 0.0
    seed: int = 0
    retries: CallRetries = field(default_factory=CallRetries)


class ModelCalls:
    """See the module. The owner closes `chat`."""

    def __init__(
        self, chat: OpenAIChat, journal: EvaluationJournal, budget: EvaluationBudget, settings: CallSettings
    ) -> None:
        self._chat = chat
        self._journal = journal
        self._budget = budget
        self._settings = settings
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def identity(self) -> tuple[object, ...]:
        """Return the part of a journal key that names the model and its settings."""
        settings = self._settings
        return (self._chat.model, settings.temperature, settings.seed, settings.max_output_tokens)

    async def ask(self, request: ModelRequest[T]) -> ModelResult[T]:
        """Return the result, from the journal if it is there. Raises EvaluationStoppedError."""
        asked = (request.prompt.text, request.schema.name, request.material, request.repetition)
        key = journal_key(self.identity(), asked)
        async with self._locks[key]:
            found = self._journal.find(key)
            if found is None:
                text, failure, usage = await self._decide(request)
                found = {"text": text, "failure": failure}
                self._journal.record(key, request.purpose, found, usage)
        if found["failure"]:
            return ModelResult(None, ReplyFailure(found["failure"]))
        return ModelResult(request.parse(object_of(found["text"])))

    async def unrecorded(self, request: ModelRequest[T]) -> tuple[ModelResult[T], ModelUsage]:
        """Return the result of a new call, and its usage; the caller records both."""
        text, failure, usage = await self._decide(request)
        if failure:
            return ModelResult(None, ReplyFailure(failure)), usage
        return ModelResult(request.parse(object_of(text))), usage

    async def _decide(self, request: ModelRequest[T]) -> tuple[str, str, ModelUsage]:
        messages = [Message("system", request.prompt.text), Message("user", request.material)]
        text, failure, usage = await self._attempt(messages, request)
        if failure in ("", ReplyFailure.REFUSED) or request.once:
            return text, failure, usage
        self._journal.charge(request.purpose, usage)
        again = f"That answer cannot be used: it was {failure}. Answer anew: one short JSON object, as asked for."
        retried = [*messages, Message("assistant", text[:_SHOWN_AGAIN_CHARS] or "{}"), Message("user", again)]
        return await self._attempt(retried, request)

    async def _attempt(self, messages: list[Message], request: ModelRequest[T]) -> tuple[str, str, ModelUsage]:
        bill = Bill()
        async with self._budget.reserve(self._greatest(messages)):
            try:
                reply = await self._settings.retries.call(lambda: self._complete(messages, request, bill))
            except Rejected:
                return "", ReplyFailure.REFUSED, bill.llm
            except BaseException:
                self._journal.charge(request.purpose, bill.llm)
                raise
        return reply.text, _failure(reply, request.parse), bill.llm

    async def _complete(self, messages: list[Message], request: ModelRequest[T], bill: Bill) -> ChatReply:
        with paid_by(BillingContext(bill=bill)):
            seed = self._settings.seed + request.repetition
            return await self._chat.complete(messages, request.schema, Stage.OTHER, seed=seed)

    def _greatest(self, messages: list[Message]) -> ModelUsage:
        prompt = round(PROMPT_MARGIN * sum(count_tokens(message.text) for message in messages))
        completion = self._settings.max_output_tokens
        return ModelUsage(1, prompt, completion, self._settings.price.of(prompt, completion))


def _failure(reply: ChatReply, parse: Callable[[dict[str, Any]], T]) -> str:
    if reply.refusal or reply.finish == "content_filter":
        return ReplyFailure.REFUSED
    if reply.finish == "length":
        return ReplyFailure.CUT_OFF
    try:
        parse(object_of(reply.text))
    except MalformedVerdictError:
        return ReplyFailure.MALFORMED
    return ""


def text_field(body: dict[str, Any], name: str) -> str:
    """Return a text of a reply. Raises MalformedVerdictError."""
    value = body.get(name)
    if not isinstance(value, str):
        raise MalformedVerdictError(f"{name} is not a text")
    return value


def list_field(body: dict[str, Any], name: str) -> list[Any]:
    """Return a list of a reply. Raises MalformedVerdictError."""
    value = body.get(name)
    if not isinstance(value, list):
        raise MalformedVerdictError(f"{name} is not a list")
    return value
