"""The ports to models: what splits, extracts, embeds and answers, and what passes between them.

Not an adapter and not a prompt: the offline implementations and those for OpenAI-compatible endpoints stand in
``graphtide.infra.models`` and pass one contract suite (``tests/contract/test_models.py``).

Invariants every implementation keeps
- the text of a document is data, never instructions;
- spans are positions in the very text that was given: ``text[start:end] == passage.text``;
- the evidence of a relation occurs in the text it was found in, letter by letter, or is empty;
- failures are ``streams.errors.Retryable`` (try again), ``Rejected`` (this text will never work), or ``Broken`` (the
  endpoint is no longer the model it was: its vectors have another dimension), nothing else;
- ``name`` tells models apart: two that answer differently have different names, so it may key a memo.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SplitPassage:
    """A piece of a text: characters ``start`` (inclusive) to ``end`` (exclusive) of it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """A name that a text mentions, as the text writes it; ``type`` is a lower-case word such as "person"."""

    name: str
    type: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A statement of a text. ``subject`` and ``object`` are names of entities in the same ``ExtractionResult``.

    ``weight`` is in (0, 1]: how sure the extractor is. ``evidence`` is the sentence that says so, verbatim.
    ``valid_from`` and ``valid_to`` are ISO 8601 dates of any precision ("1961", "1961-03", "1961-03-12"), or None.
    """

    subject: str
    predicate: str
    object: str
    description: str = ""
    weight: float = 1.0
    evidence: str = ""
    valid_from: str | None = None
    valid_to: str | None = None


@dataclass(frozen=True, slots=True)
class ExtractionResult:
    """What one passage states. Entities are distinct by (name, type), and every end of a relation is among them.

    `title` and `description` say what the passage is about, in one line each, or are empty.
    """

    entities: tuple[ExtractedEntity, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A passage given to a Generator, best first, with where it came from and the graph's statements about it.

    `outdated` are the pieces of its text that a later document contradicts.
    """

    text: str
    title: str = ""
    doc_id: str = ""
    chunk_id: str = ""
    facts: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer. ``cited`` are 0-based indices into the context, in order of first use.

    The marker ``[1]`` in ``text`` stands for index 0.
    """

    text: str
    cited: tuple[int, ...] = ()
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A text that was written from passages: a community's report, a subgraph in words, an answer from one of these.

    ``[n]`` in ``text`` names ``sources[n - 1]``. A text without such a mark rests on its sources as a whole.
    """

    title: str
    text: str
    sources: tuple[ContextPassage, ...]


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """What one part says to a question. ``rating`` is how much that helps, 0 (not at all) to 100.

    ``cited`` are 0-based indices into the part's sources; the marker ``[1]`` in ``text`` stands for index 0.
    """

    text: str
    rating: int
    cited: tuple[int, ...] = ()
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def citable(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> tuple[ContextPassage, ...]:
    """What an answer may cite, in the order of its numbers: the passages, then what the parts rest on beside them."""
    held = {one.chunk_id for one in context}
    rest = {one.chunk_id: one for part in parts for one in part.sources if one.chunk_id not in held}
    return (*context, *rest.values())


@runtime_checkable
class Chunker(Protocol):
    """Splits a text into passages of bounded size. Pure, deterministic, synchronous."""

    @property
    def name(self) -> str: ...

    def split(self, text: str) -> tuple[SplitPassage, ...]:
        """The passages of ``text`` in order, none overlapping, none blank; together they hold every visible character.

        A blank text has none. Cost: linear in the length of ``text`` (CPU: use a thread when it is long).
        """
        ...


@runtime_checkable
class Extractor(Protocol):
    """Finds entities and relations in one passage."""

    @property
    def name(self) -> str: ...

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """What ``text`` states. ``title`` is that of its document ("" when it has none): whom "it" may mean."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors whose dot product says how alike they are."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int:
        """d, or 0 as long as an implementation that learns it from its endpoint has not asked yet."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """``(n, d) float32``, rows finite and of unit length, row i for ``texts[i]``. No texts: ``(0, d)``, no call."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Answers a question from passages, and from texts written from passages, and says which passages it used."""

    @property
    def name(self) -> str: ...

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """An answer that rests on ``context`` and ``parts`` alone. When nothing fits, it says so and cites nothing.

        ``Generated.cited`` are indices into ``citable(context, parts)``, which is the context when there are no parts.
        """
        ...

    def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        """The same answer in pieces of text as they come, then, as the last item, the whole as ``Generated``.

        The pieces joined are ``Generated.text``. Closing the iterator early cancels the work behind it.
        """
        ...

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        """What this part alone says to the question, and how helpful that is: 0 when it says nothing to it.

        Every sentence cites sources of this part, or is marked as unsupported.
        """
        ...


@runtime_checkable
class Rater(Protocol):
    """Says how much texts matter to a question."""

    @property
    def name(self) -> str: ...

    async def rate(self, question: str, texts: Sequence[str]) -> Sequence[int]:
        """A rating of each text, in order: 0 (nothing to do with the question) to 5 (answers it)."""
        ...
