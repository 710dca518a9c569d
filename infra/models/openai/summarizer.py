"""Summarizer of entities on a language model: the material of a call, and the checks of its answer.

It does not judge truth. Invariants: a sentence names descriptions that were shown, and has their chunks as sources; a
sentence that names none is left out; all together stay within the bound. Without any valid sentence the extractive
summary is used.
"""

from __future__ import annotations

from graphtide.graph.entity_descriptions import MAX_TOKENS, DescribedSentence, EntityProfile, extractive_summary
from graphtide.graph.text.quotation import without_citations
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.openai.chat import Message, OpenAIChat
from graphtide.infra.models.prompts.graph_prompts import ENTITY, ByGraph, prompts_by_graph
from graphtide.infra.models.prompts.templates import MAX_SENTENCES, code_for
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.infra.models.usage.counters import Tally
from graphtide.streams.errors import Rejected
from graphtide.streams.usage import Stage, payer

_SENTENCE = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "sources": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["text", "sources"],
    "additionalProperties": False,
}
SCHEMA = Schema(
    "entity_summary",
    {
        "type": "object",
        "properties": {"sentences": {"type": "array", "items": _SENTENCE}},
        "required": ["sentences"],
        "additionalProperties": False,
    },
)
_SENTENCE_CHARS = 800


class OpenAISummarizer:
    """The `Summarizer` on a language model. The owner of `chat` closes it.

    A graph with a prompt of its own is summarized by it, that of the payer on whose behalf it is called; `name`
    contains the prompt's version.
    """

    def __init__(self, chat: OpenAIChat, tally: Tally | None = None, prompts: ByGraph | None = None) -> None:
        self._chat = chat
        self._tally = tally or Tally()
        self._prompts = prompts or prompts_by_graph(None, ENTITY)

    @property
    def name(self) -> str:
        return f"openai/{self._chat.model} {self._prompts.of(payer().graph).version}"

    async def summarize(self, profile: EntityProfile) -> tuple[DescribedSentence, ...]:
        """See `graphtide.streams.summarize.summary_writer.Summarizer`. One call."""
        kind = f" ({profile.type})" if profile.type else ""
        lines = [
            f"Entity: {profile.name}{kind}",
            *(f"[{n}] {without_citations(description.text)}" for n, description in enumerate(profile.descriptions, 1)),
        ]
        text = "\n".join(" ".join(line.split()) for line in lines)
        code = code_for([text])
        asked = f"<entity-{code}>\n{text}\n</entity-{code}>"
        messages = [Message("system", self._prompts.of(payer().graph).text), Message("user", asked)]
        try:
            reply = await self._chat.complete(messages, SCHEMA, Stage.SUMMARIZE)
        except Rejected:
            return extractive_summary(profile)
        sentences = _read(reply.text, len(profile.descriptions))
        if not sentences:
            self._tally.dropped("summary")
        return sentences or extractive_summary(profile)


def _read(text: str, count: int) -> tuple[DescribedSentence, ...]:
    """Return the valid sentences, as many as fit."""
    rows = object_of(text).get("sentences")
    found, left = [], MAX_TOKENS
    for row in rows[:MAX_SENTENCES] if isinstance(rows, list) else ():
        sentence = _sentence(row, count)
        left -= count_tokens(sentence.text) if sentence else 0
        if left < 0:
            break
        found += [sentence] if sentence else []
    return tuple(found)


def _sentence(row: object, count: int) -> DescribedSentence | None:
    if not isinstance(row, dict):
        return None
    text, sources = row.get("text"), row.get("sources")
    sentence = " ".join(text.split())[:_SENTENCE_CHARS] if isinstance(text, str) else ""
    named = [n - 1 for n in sources if isinstance(n, int) and 0 < n <= count] if isinstance(sources, list) else []
    return DescribedSentence(sentence, tuple(dict.fromkeys(named))) if sentence and named else None
