"""Generator of answers on any endpoint with the OpenAI chat-completions API, streamed, with checked citations.

It knows only the context. Passages, facts and texts reach the model between marks that they cannot contain. Invariants:
every citation names a passage of the context or a source of its texts; a sentence without one is marked as unsupported
(``infra.models.replies.citation_checker``); without a context, or a question, the model is not called.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from graphtide.graph.text.quotation import neutralise
from graphtide.infra.models.openai.chat import ChatReply, Message, OpenAIChat
from graphtide.infra.models.prompts.graph_prompts import ANSWER, ANSWER_PART, ByGraph, prompts_by_graph
from graphtide.infra.models.prompts.templates import NOTHING_FITS, code_for
from graphtide.infra.models.replies.citation_checker import CitationChecker, renumbered
from graphtide.infra.models.replies.json_replies import object_of
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.errors import Rejected
from graphtide.streams.model_ports import ContextPart, ContextPassage, Generated, PartAnswer, citable
from graphtide.streams.usage import Stage, payer

PART_SCHEMA = Schema(
    "part_answer",
    {
        "type": "object",
        "properties": {"answer": {"type": "string"}, "helpfulness": {"type": "integer"}},
        "required": ["answer", "helpfulness"],
        "additionalProperties": False,
    },
)
CUT_OFF = "[cut off]"
_MAX_FACTS = 40
_MAX_SOURCES = 20


class OpenAIGenerator:
    """The Generator on a language model (see the module). The owner of ``chat`` closes it.

    A graph with prompts of its own is answered by them: those of the payer on whose behalf it is called.
    """

    def __init__(self, chat: OpenAIChat, prompts: ByGraph | None = None, part_prompts: ByGraph | None = None) -> None:
        self._chat = chat
        self._prompts = prompts or prompts_by_graph(None, ANSWER)
        self._part_prompts = part_prompts or prompts_by_graph(None, ANSWER_PART)

    @property
    def name(self) -> str:
        return f"openai/{self._chat.model} {self._prompts.of(payer().graph).version}"

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """See ``graphtide.streams.model_ports.Generator``. One call."""
        async for item in self.stream(question, context, parts):
            if isinstance(item, Generated):
                return item
        raise AssertionError("a stream ends with its Generated")

    async def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        """Yield the answer as it arrives, citations checked, then the whole. Raises as ``OpenAIChat.stream``."""
        if not (context or parts) or not _asks(question):
            yield NOTHING_FITS
            yield Generated(NOTHING_FITS)
            return
        checked, given, pending, began = CitationChecker(len(citable(context, parts))), "", "", False
        async for item in self._chat.stream(self._messages(question, context, parts)):
            if isinstance(item, ChatReply):  # the last item; the iterator runs to its end, and so does the call
                last = item
                continue
            pending += item
            if not began and NOTHING_FITS.startswith(pending.strip()):
                continue  # it may be the sentence that nothing fits, which makes no claim and needs no mark
            began = True
            if piece := checked.take(pending):
                given += piece
                yield piece
            pending = ""
        rest = _rest(checked, pending, last) if began else _whole(checked, pending, last)
        if rest:
            yield rest
        yield Generated(given + rest, checked.cited, 1, last.prompt_tokens, last.completion_tokens)

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        """See `Generator.answer_part`. One call; an unreadable answer is rated 0, and is paid for."""
        if not part.sources or not _asks(question):
            return PartAnswer("", 0)
        code = code_for([question, part.title, part.text])
        asked = f"{_marked_text(part, range(1, len(part.sources) + 1), code)}\n\nQuestion: {question}"
        messages = [Message("system", self._part_prompts.of(payer().graph).text), Message("user", asked)]
        try:
            reply = await self._chat.complete(messages, PART_SCHEMA, Stage.ANSWER, urgent=True)
        except Rejected:
            return PartAnswer("", 0)
        text, rating = _read(reply.text)
        checked = CitationChecker(len(part.sources))
        answer = checked.take(text) + checked.end()
        return PartAnswer(answer, rating, checked.cited, 1, reply.prompt_tokens, reply.completion_tokens)

    def _messages(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart]
    ) -> list[Message]:
        shown = [text for passage in context for text in (passage.title, passage.text, *passage.facts)]
        code = code_for([question, *shown, *(text for part in parts for text in (part.title, part.text))])
        numbers = {passage.chunk_id: number for number, passage in enumerate(citable(context, parts), 1)}
        marked = [_marked(number, passage, code) for number, passage in enumerate(context, 1)]
        marked += [_marked_text(part, [numbers[passage.chunk_id] for passage in part.sources], code) for part in parts]
        return [
            Message("system", self._prompts.of(payer().graph).text),
            Message("user", "\n\n".join([*marked, f"Question: {question}"])),
        ]


def _asks(question: str) -> bool:
    return any(char.isalnum() for char in question)


def _read(text: str) -> tuple[str, int]:
    """Return the answer and its rating; an answer in another form, or an empty one, is rated 0."""
    body = object_of(text)
    answer, rating = body.get("answer"), body.get("helpfulness")
    if not isinstance(answer, str) or not isinstance(rating, int) or not answer.strip():
        return "", 0
    return answer.strip(), max(0, min(100, rating))


def _whole(checked: CitationChecker, pending: str, last: ChatReply) -> str:
    """Return an answer of which no piece has been sent, because it may be the sentence that nothing fits."""
    return NOTHING_FITS if pending.strip() in ("", NOTHING_FITS) else _rest(checked, pending, last)


def _rest(checked: CitationChecker, pending: str, last: ChatReply) -> str:
    """Return the remaining text when the model has ended: the end of its last sentence."""
    rest = checked.take(pending) + checked.end()
    return f"{rest} {CUT_OFF}" if last.finish == "length" else rest


def _marked(number: int, passage: ContextPassage, code: str) -> str:
    facts = "\n".join(f"- {neutralise(' '.join(fact.split()))}" for fact in passage.facts[:_MAX_FACTS])
    stated = f"\nStated there:\n{facts}" if facts else ""
    title = neutralise(" ".join(passage.title.split()))
    return f"<passage-{code} {number}>\nTitle: {title}\n\n{neutralise(passage.text)}{stated}\n</passage-{code}>"


def _marked_text(part: ContextPart, numbers: Sequence[int], code: str) -> str:
    """Return a text with the passage numbers of its sources; one without citations ends with a list of them."""
    title, text = neutralise(" ".join(part.title.split())), renumbered(part.text, numbers)
    if text == renumbered(part.text, ()):
        text = f"{text}\n(All of this: {''.join(f'[{number}]' for number in numbers[:_MAX_SOURCES])})"
    return f"<text-{code}>\nTitle: {title}\n\n{text}\n</text-{code}>"
