"""Judge of pairs that the rules leave open, on a language model: do both labels name one entity, or both predicates say
the same?

It sees the two names and their types, and for a pair found by similar vectors a few statements about each. A verdict
depends on these alone and is stored with the graph (`graph/resolution/synonyms/questions.py`), so no question is paid
for twice; cannot-link guards may overrule it.
"""

from __future__ import annotations

from graphtide.graph.resolution import LabelKey, PairQuestion
from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE, is_predicate_pair
from graphtide.graph.resolution.synonyms.questions import Context
from graphtide.infra.models.openai.chat import Message, OpenAIChat
from graphtide.infra.models.prompts.templates import code_for, load
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.usage import Stage

PROMPT = "same-as-1"
CONTEXT_PROMPT = "same-as-context-1"
PREDICATE_PROMPT = "same-predicate-1"
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
        self._context_prompt = load(CONTEXT_PROMPT, {})
        self._predicate_prompt = load(PREDICATE_PROMPT, {})

    @property
    def name(self) -> str:
        """Return the model and the prompt's version."""
        return f"{self._chat.model}/{self._prompt.version}"

    async def same(self, question: PairQuestion) -> bool | None:
        """Return whether the two mean the same; None when the model is unreachable. Only a plain yes joins them.

        Unsure, and an unreadable answer, are verdicts, too: the pair stays separate, and is not paid for again. The two
        are always sent in the same order, so that the answer cannot depend on their order of arrival.
        """
        prompt = self._prompt if question.contexts is None else self._context_prompt
        if is_predicate_pair(question.pair):
            prompt = self._predicate_prompt
        labels = zip(question.pair, question.contexts or ((), ()), strict=True)
        messages = [Message("system", prompt.text), Message("user", _marked(sorted(labels)))]
        try:
            reply = await self._chat.complete(messages, SCHEMA, Stage.JUDGE)
        except Retryable:
            return None
        except Rejected:
            return False
        return _verdict(reply.text)


def _marked(labels: list[tuple[LabelKey, Context]]) -> str:
    code = code_for([part for key, context in labels for part in (*key, *context)])
    lines = []
    for (name, type_), context in labels:
        shown = f"{name} ({type_})" if type_ and type_ != PREDICATE_TYPE else name
        lines.append(f"<name-{code}>{shown}</name-{code}>")
        if context:
            lines.append(f"<facts-{code}>\n" + "\n".join(context) + f"\n</facts-{code}>")
    return "\n".join(lines)


def _verdict(text: str) -> bool:
    return object_of(text).get("same") == "yes"
