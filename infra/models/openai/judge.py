"""Judge of label pairs that the rules leave open, on a language model: do both labels name one entity?

It sees the two names and their types, nothing else, so a verdict depends on the pair alone and may be cached by it.
Verdicts are stored with the graph (`streams/consolidate/stage.py`); cannot-link guards may overrule them.
"""

from __future__ import annotations

from graphtide.graph.resolution import LabelKey
from graphtide.infra.models.openai.chat import Message, OpenAIChat
from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.usage import Stage

PROMPT = "same-as-1"
SCHEMA = Schema(
    "same_as",
    {
        "type": "object",
        "properties": {"same": {"type": "string", "enum": ["yes", "no", "unsure"]}},
        "required": ["same"],
        "additionalProperties": False,
    },
)


class OpenAIJudge:
    """Verdicts by the model of `chat`, which the owner of `chat` closes."""

    def __init__(self, chat: OpenAIChat) -> None:
        self._chat = chat
        self._prompt = load(PROMPT, {})

    @property
    def name(self) -> str:
        """Return the model and the prompt's version."""
        return f"{self._chat.model}/{self._prompt.version}"

    async def same(self, a: LabelKey, b: LabelKey) -> bool | None:
        """Return whether the two name one thing; None when the model is unreachable. Only a plain yes joins them.

        Unsure, and an unreadable answer, are verdicts, too: the pair stays separate, and is not paid for again. The two
        are always sent in the same order, so that the answer cannot depend on their order of arrival.
        """
        first, second = sorted((a, b))
        messages = [Message("system", self._prompt.text), Message("user", _marked(first, second))]
        try:
            reply = await self._chat.complete(messages, SCHEMA, Stage.JUDGE)
        except Retryable:
            return None
        except Rejected:
            return False
        return _verdict(reply.text)


def _marked(*labels: LabelKey) -> str:
    code = code_for([part for label in labels for part in label])
    shown = (f"{name} ({type_})" if type_ else name for name, type_ in labels)
    return "\n".join(f"<name-{code}>{name}</name-{code}>" for name in shown)


def _verdict(text: str) -> bool:
    return object_of(text).get("same") == "yes"
