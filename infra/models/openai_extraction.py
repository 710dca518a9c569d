"""Entities and relations from any endpoint that speaks the OpenAI chat-completions API.

Not a retry loop and not a memo. A text's own words reach the model between marks that it cannot contain, the model is
offered no tools, and what comes back is taken as ``infra.models.extraction_answer`` reads it: so a text can decide
nothing but what is found in it. An answer that is no extraction is asked for once more, with what was wrong with it;
then the text is Rejected, with the cause.
"""

from __future__ import annotations

from infra.models import extraction_answer
from infra.models.extraction_answer import MOST_ENTITIES, MOST_RELATIONS, SCHEMA, Malformed, Reading
from infra.models.openai_chat import Message, OpenAIChat, Reply
from infra.models.prompts import code_for, load
from infra.models.tally import Tally
from streams.errors import Rejected
from streams.models import Found
from streams.spending import Stage

PROMPT = "extraction-1"
_SHOWN_AGAIN_CHARS = 4_000


class OpenAIExtractor:
    """The Extractor on a language model (see the module). ``chat`` stays its owner's to close."""

    def __init__(self, chat: OpenAIChat, tally: Tally | None = None) -> None:
        self._chat = chat
        self._tally = tally or Tally()
        self._prompt = load(PROMPT, {"most_entities": MOST_ENTITIES, "most_relations": MOST_RELATIONS})

    @property
    def name(self) -> str:
        """Model, prompt and schema: what decides the answer. Not the address, which may change."""
        return f"openai/{self._chat.model} {self._prompt.version} schema-{extraction_answer.VERSION}"

    async def extract(self, text: str, *, title: str) -> Found:
        """See ``streams.models.Extractor``. One call, two when the first answer cannot be used; none without words."""
        if not any(char.isalnum() for char in text):
            return Found()
        messages = [Message("system", self._prompt.text), Message("user", _marked(text, title))]
        first = await self._ask(messages)
        try:
            return self._read(first, text)
        except Malformed as error:
            cause = error
        second = await self._ask([*messages, *_again(first, cause)])
        try:
            return self._read(second, text)
        except Malformed as error:
            raise Rejected(f"{self._chat.where} gave no extraction, asked twice: {cause}; then: {error}") from None

    async def _ask(self, messages: list[Message]) -> Reply:
        reply = await self._chat.complete(messages, SCHEMA, Stage.EXTRACT)
        if reply.refusal or reply.finish == "content_filter":
            said = " ".join(reply.refusal.split())[:200] or "its content filter stopped the answer"
            raise Rejected(f"{self._chat.where} declined to read the text: {said}")
        return reply

    def _read(self, reply: Reply, text: str) -> Found:
        if reply.finish == "length":
            raise Malformed("it was cut off at the longest answer allowed; write less")
        reading: Reading = extraction_answer.read(reply.text, text)
        for reason, count in reading.dropped.items():
            self._tally.dropped(reason, count)
        return reading.found


def _marked(text: str, title: str) -> str:
    code = code_for([title, text])
    return f"<document-{code}>\nTitle: {' '.join(title.split())}\n\n{text}\n</document-{code}>"


def _again(reply: Reply, cause: Malformed) -> list[Message]:
    asked = f"That answer cannot be used: {cause}. Answer anew, with the one JSON object asked for and nothing else."
    return [Message("assistant", reply.text[:_SHOWN_AGAIN_CHARS] or "{}"), Message("user", asked)]
