"""Rater of texts by their relevance to a question, on a language model: a cheap model is enough, since it only sorts.

Invariants: it returns one rating for each text, 0 to 5; a text that the model did not rate is kept (`UNRATED`), so that
an unreadable answer loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.infra.models.openai.chat import Message, OpenAIChat
from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.errors import Rejected
from graphtide.streams.usage import Stage

PROMPT = "rating-1"
SCHEMA = Schema(
    "ratings",
    {
        "type": "object",
        "properties": {"ratings": {"type": "array", "items": {"type": "integer"}}},
        "required": ["ratings"],
        "additionalProperties": False,
    },
)
UNRATED = 1
_MAX_RATING = 5
_MAX_CHARS = 8_000


class OpenAIRater:
    """The Rater on a language model. The owner of `chat` closes it."""

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat = chat
        self._prompt = load(PROMPT, {})

    @property
    def name(self) -> str:
        return f"openai/{self._chat.model} {self._prompt.version}"

    async def rate(self, question: str, texts: Sequence[str]) -> Sequence[int]:
        """See `streams.model_ports.Rater`. One call for all of the texts: the caller bounds their number."""
        code = code_for([question, *texts])
        shown = (f"<text-{code} {n}>\n{text[:_MAX_CHARS]}\n</text-{code}>" for n, text in enumerate(texts, 1))
        asked = "\n\n".join([*shown, f"Question: {question}"])
        messages = [Message("system", self._prompt.text), Message("user", asked)]
        try:
            reply = await self._chat.complete(messages, SCHEMA, Stage.RATE, urgent=True)
        except Rejected:
            return [UNRATED] * len(texts)
        return _read(reply.text, len(texts))


def _read(text: str, count: int) -> list[int]:
    ratings = object_of(text).get("ratings")
    rows = ratings if isinstance(ratings, list) and len(ratings) == count else [None] * count
    return [max(0, min(_MAX_RATING, row)) if isinstance(row, int) else UNRATED for row in rows]
