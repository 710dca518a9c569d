"""Extractor of entities and relations on any endpoint with the OpenAI chat-completions API.

It neither retries nor caches. A text reaches the model between marks that it cannot contain, the model is offered no
tools, and ``infra.models.replies.extraction_parser`` reads the answer: so a text can influence only its own extraction.
An answer that is not an extraction is requested once more, with its error; then the text is Rejected, with the cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.openai.chat import ChatReply, Message, OpenAIChat
from graphtide.infra.models.prompts.graph_prompts import load_prompts
from graphtide.infra.models.prompts.templates import Prompt, code_for, load
from graphtide.infra.models.replies import extraction_parser as extraction_answer
from graphtide.infra.models.replies.extraction_parser import SCHEMA, MalformedReply, Reading, joined
from graphtide.infra.models.usage.counters import Tally
from graphtide.streams.errors import Rejected
from graphtide.streams.model_ports import ExtractionResult
from graphtide.streams.usage import Stage

GLEANING = "gleaning-1"
_SHOWN_AGAIN_CHARS = 4_000


class OpenAIExtractor:
    """The Extractor on a language model (see the module). The owner of ``chat`` closes it."""

    def __init__(
        self, chat: OpenAIChat, tally: Tally | None = None, prompt: Prompt | None = None, *, glean: bool = False
    ) -> None:
        self._chat = chat
        self._tally = tally or Tally()
        self._prompt = prompt or load_prompts(None)[0]
        self._gleaning = load(GLEANING, {}) if glean else None

    @property
    def name(self) -> str:
        """Return model, prompt and schema, which determine the answer. The address, which may change, is left out."""
        gleaned = f" {self._gleaning.version}" if self._gleaning else ""
        return f"openai/{self._chat.model} {self._prompt.version}{gleaned} schema-{extraction_answer.VERSION}"

    def calls(self, text: str, title: str) -> Iterator[tuple[Stage, int, int]]:
        """Yield the calls of a successful `extract`: stage, tokens of the prompt, and of its material.

        Gleaning sends the first answer again, which comes on top.
        """
        if any(char.isalnum() for char in text):
            material = count_tokens(_marked(text, title))
            prompt = count_tokens(self._prompt.text) + material
            yield Stage.EXTRACT, prompt, material
            if self._gleaning is not None:
                yield Stage.GLEAN, prompt + count_tokens(self._gleaning.text), material

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See `Extractor.extract`. One call, two when the first answer is unusable; none for a text without words.

        Gleaning adds one: its results are joined to the first ones; an unusable gleaning loses nothing.
        """
        if not any(char.isalnum() for char in text):
            return ExtractionResult()
        messages = [Message("system", self._prompt.text), Message("user", _marked(text, title))]
        found, last = await self._found(messages, text)
        if self._gleaning is None:
            return found
        messages += [_assistant_message(last), Message("user", self._gleaning.text)]
        return joined(found, await self._gleaned(messages, text))

    async def _found(self, messages: list[Message], text: str) -> tuple[ExtractionResult, ChatReply]:
        first = await self._ask(messages)
        try:
            return self._read(first, text), first
        except MalformedReply as error:
            cause = error
        second = await self._ask([*messages, *_again(first, cause)])
        try:
            return self._read(second, text), second
        except MalformedReply as error:
            raise Rejected(
                f"{self._chat.where} returned no extraction in two attempts: {cause}; then: {error}"
            ) from None

    async def _gleaned(self, messages: list[Message], text: str) -> ExtractionResult:
        try:
            return self._read(await self._ask(messages, Stage.GLEAN), text)
        except (MalformedReply, Rejected):
            self._tally.dropped("gleaning")
            return ExtractionResult()

    async def _ask(self, messages: list[Message], stage: Stage = Stage.EXTRACT) -> ChatReply:
        reply = await self._chat.complete(messages, SCHEMA, stage)
        if reply.refusal or reply.finish == "content_filter":
            reason = " ".join(reply.refusal.split())[:200] or "its content filter stopped the answer"
            raise Rejected(f"{self._chat.where} declined to read the text: {reason}")
        return reply

    def _read(self, reply: ChatReply, text: str) -> ExtractionResult:
        if reply.finish == "length":
            raise MalformedReply("it was cut off at the longest answer allowed; write less")
        reading: Reading = extraction_answer.read(reply.text, text)
        for reason, count in reading.dropped.items():
            self._tally.dropped(reason, count)
        return reading.found


def _marked(text: str, title: str) -> str:
    code = code_for([title, text])
    return f"<document-{code}>\nTitle: {' '.join(title.split())}\n\n{text}\n</document-{code}>"


def _again(reply: ChatReply, cause: MalformedReply) -> list[Message]:
    asked = f"That answer cannot be used: {cause}. Answer anew, with the one JSON object asked for and nothing else."
    return [_assistant_message(reply), Message("user", asked)]


def _assistant_message(reply: ChatReply) -> Message:
    return Message("assistant", reply.text[:_SHOWN_AGAIN_CHARS] or "{}")
