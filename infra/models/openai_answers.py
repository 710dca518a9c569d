"""Answers by any endpoint that speaks the OpenAI chat-completions API, streamed, with checked citations.

Not retrieval: what is not in the context is not known here. Passages and facts reach the model between marks that they
cannot contain. Invariants: every citation names a passage of the context; a sentence without one is marked as
unsupported (``infra.models.citations``); with no context, or no question, the model is not asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from infra.models.citations import CheckedAnswer
from infra.models.openai_chat import Message, OpenAIChat, Reply
from infra.models.prompts import code_for, load
from infra.models.tally import Tally
from streams.models import ContextPassage, Generated

PROMPT = "answer-1"
PURPOSE = "answer"
NOTHING_FITS = "The documents found do not answer this."
CUT_OFF = "[cut off]"
_MOST_FACTS = 40


class OpenAIGenerator:
    """The Generator on a language model (see the module). ``chat`` stays its owner's to close."""

    def __init__(self, chat: OpenAIChat, tally: Tally | None = None) -> None:
        self._chat = chat
        self._tally = tally or Tally()
        self._prompt = load(PROMPT, {"nothing": NOTHING_FITS})

    @property
    def name(self) -> str:
        return f"openai/{self._chat.model} {self._prompt.version}"

    async def answer(self, question: str, context: Sequence[ContextPassage]) -> Generated:
        """See ``streams.models.Generator``. One call."""
        async for item in self.stream(question, context):
            if isinstance(item, Generated):
                return item
        raise AssertionError("a stream ends with its Generated")

    async def stream(self, question: str, context: Sequence[ContextPassage]) -> AsyncIterator[str | Generated]:
        """As it comes, citations checked, then the whole. Raises as ``OpenAIChat.stream``."""
        if not context or not any(char.isalnum() for char in question):
            yield NOTHING_FITS
            yield Generated(NOTHING_FITS)
            return
        checked, given, held, began = CheckedAnswer(len(context)), "", "", False
        async for item in self._chat.stream(self._messages(question, context)):
            if isinstance(item, Reply):
                last = item
                break
            held += item
            if not began and NOTHING_FITS.startswith(held.strip()):
                continue  # it may be about to say that nothing fits, which claims nothing and needs no mark
            began = True
            if piece := checked.take(held):
                given += piece
                yield piece
            held = ""
        self._tally.called(PURPOSE, last.prompt_tokens, last.completion_tokens)
        rest = _rest(checked, held, last) if began else _whole(checked, held, last)
        if rest:
            yield rest
        yield Generated(given + rest, checked.cited, 1, last.prompt_tokens, last.completion_tokens)

    def _messages(self, question: str, context: Sequence[ContextPassage]) -> list[Message]:
        code = code_for([question, *(text for one in context for text in (one.title, one.text, *one.facts))])
        passages = "\n\n".join(_marked(number, one, code) for number, one in enumerate(context, 1))
        return [Message("system", self._prompt.text), Message("user", f"{passages}\n\nQuestion: {question}")]


def _whole(checked: CheckedAnswer, held: str, last: Reply) -> str:
    """An answer of which nothing has gone out yet, because it might have been, and perhaps is, that nothing fits."""
    return NOTHING_FITS if held.strip() in ("", NOTHING_FITS) else _rest(checked, held, last)


def _rest(checked: CheckedAnswer, held: str, last: Reply) -> str:
    """What is left to say when the model has ended: the end of its last sentence."""
    rest = checked.take(held) + checked.end()
    return f"{rest} {CUT_OFF}" if last.finish == "length" else rest


def _marked(number: int, passage: ContextPassage, code: str) -> str:
    facts = "\n".join(f"- {' '.join(fact.split())}" for fact in passage.facts[:_MOST_FACTS])
    said = f"\nStated there:\n{facts}" if facts else ""
    title = " ".join(passage.title.split())
    return f"<passage-{code} {number}>\nTitle: {title}\n\n{passage.text}{said}\n</passage-{code}>"
