"""The ports to models: chunkers, extractors, embedders, generators and raters, and their data types.

The offline implementations and those for OpenAI-compatible endpoints are in ``graphtide.infra.models`` and pass one
contract suite (``tests/contract/test_models.py``).

Invariants that every implementation keeps:
- the text of a document is data, never instructions;
- spans are positions in the text that was passed;
- the evidence of a relation occurs verbatim in the text in which it was found, or is empty;
- failures are ``streams.errors.Retryable`` (try again), ``Rejected`` (this text can never be processed) or ``Broken``
  (the endpoint serves another model: its vectors have another dimension), nothing else;
- ``name`` identifies a model: two models that answer differently have different names, so it may be a cache key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from graphtide.graph.records import DocumentInfo
from graphtide.graph.text.place import NO_PLACE, Place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARKDOWN, PLAIN, CSV = "text/markdown", "text/plain", "text/csv"
MEDIA_TYPES = (MARKDOWN, PLAIN, CSV)
"""The formats of a document's text. A form feed begins a new page in each."""


@dataclass(frozen=True, slots=True)
class SplitPassage:
    """A piece of a document, from character ``start`` (inclusive) to ``end`` (exclusive).

    ``text`` is readable text without markup; in a text without structure it is the piece itself. Blocks (a paragraph,
    a list item, a table row) are separated by an empty line, and only code contains line breaks. ``mentions`` are the
    names that the piece links to.
    """

    text: str
    start: int
    end: int
    place: Place = NO_PLACE
    mentions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExtractedEntity:
    """An entity that a text mentions, with its spelling in the text; ``type`` is a lower-case word such as "person"."""

    name: str
    type: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedRelation:
    """A relation that a text states. ``subject`` and ``object`` name entities in the same ``ExtractionResult``.

    ``weight`` in (0, 1] is the extractor's confidence. ``evidence`` is the sentence that states it, verbatim.
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
    """The entities and relations of one passage.

    Entities are distinct by (name, type) and include both ends of every relation. `title` and `description` summarise
    the passage in one line each, or are empty.
    """

    entities: tuple[ExtractedEntity, ...] = ()
    relations: tuple[ExtractedRelation, ...] = ()
    title: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ContextPassage:
    """A passage passed to a Generator, with its source and the graph's statements about it.

    `outdated` are the pieces of its text that a later document contradicts. `place` is where the passage is in its
    document: its headings are context of the text, and `place.kind` tells tables, code and quotes from prose. `ordinal`
    counts the passages before it in its document.
    """

    text: str
    title: str = ""
    doc_id: str = ""
    chunk_id: str = ""
    facts: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    place: Place = NO_PLACE
    occurred_at: str = ""
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """An answer. ``cited`` are 0-based indices into the context, in order of first use.

    The marker ``[1]`` in ``text`` denotes index 0.
    """

    text: str
    cited: tuple[int, ...] = ()
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class ContextPart:
    """A text derived from passages: a community report, a verbalised subgraph, or an answer from one of these.

    ``[n]`` in ``text`` cites ``sources[n - 1]``. A text without such a marker is supported by its sources as a whole.
    """

    title: str
    text: str
    sources: tuple[ContextPassage, ...]


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The answer of one part to a question. ``rating`` is its helpfulness, 0 (none) to 100.

    ``cited`` are 0-based indices into the part's sources; the marker ``[1]`` in ``text`` denotes index 0.
    """

    text: str
    rating: int
    cited: tuple[int, ...] = ()
    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def citable(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> tuple[ContextPassage, ...]:
    """Return the passages that an answer may cite, in citation order: ``context``, then the parts' other sources."""
    known = {passage.chunk_id for passage in context}
    rest = {passage.chunk_id: passage for part in parts for passage in part.sources if passage.chunk_id not in known}
    return (*context, *rest.values())


@runtime_checkable
class Chunker(Protocol):
    """Splitter of texts into passages of bounded size. Pure, deterministic, synchronous."""

    @property
    def name(self) -> str: ...

    def split(self, text: str, media_type: str = "") -> tuple[SplitPassage, ...]:
        """Return the passages of ``text`` in order, without overlaps or blank ones, with all of its content.

        ``media_type`` is the format of the text; with "" the chunker recognises it. A blank text has no passages. Cost:
        linear in the length of ``text`` (CPU: use a thread for a long text).
        """
        ...

    def describe(self, text: str, media_type: str = "") -> DocumentInfo:
        """Return the title, the date and the metadata that ``text`` itself states, such as in its front matter."""
        ...


@runtime_checkable
class Extractor(Protocol):
    """Model that finds entities and relations in one passage."""

    @property
    def name(self) -> str: ...

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """Return what ``text`` states. ``title`` is that of its document, or "": it helps to resolve pronouns.

        The headings above the passage follow the title, separated by ``graph.text.place.PATH_SEPARATOR``.
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """Model that maps texts to vectors whose dot product is their similarity."""

    @property
    def name(self) -> str: ...

    @property
    def dimensions(self) -> int:
        """Return d, or 0 while an implementation has not yet learned it from its endpoint."""
        ...

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return ``(n, d) float32``, rows finite and of unit length, row i for ``texts[i]``.

        No texts: ``(0, d)``, without a call.
        """
        ...


@runtime_checkable
class Generator(Protocol):
    """Model that answers a question from passages and from texts derived from them, with citations."""

    @property
    def name(self) -> str: ...

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """Return an answer supported by ``context`` and ``parts`` alone, or a statement that they hold no answer.

        ``Generated.cited`` are indices into ``citable(context, parts)``, which is ``context`` when there are no parts.
        """
        ...

    def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        """Yield the same answer in pieces of text as they arrive and, as the last item, the whole as ``Generated``.

        The joined pieces are ``Generated.text``. Closing the iterator early cancels the model call.
        """
        ...

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        """Return the answer of this part alone, and its helpfulness: 0 when the part does not address the question.

        Every sentence cites sources of this part, or is marked as unsupported.
        """
        ...


@runtime_checkable
class WideReader(Protocol):
    """Generator that reads more passages than a result has, because it compares their sentences itself."""

    @property
    def context_passages(self) -> int:
        """Return how many passages it reads beyond those of the result, at most."""
        ...


class Reranker(Protocol):
    """Scores passages for a question, together with it, as a cross-encoder does."""

    @property
    def name(self) -> str: ...

    async def rerank(self, question: str, texts: Sequence[str]) -> Sequence[float]:
        """Return one finite score for each text, higher for a more relevant one, comparable within the call.

        Raises Retryable, Rejected or Broken.
        """
        ...


@runtime_checkable
class Rater(Protocol):
    """Model that rates the relevance of texts to a question."""

    @property
    def name(self) -> str: ...

    async def rate(self, question: str, texts: Sequence[str]) -> Sequence[int]:
        """Return the rating of each text, in order: 0 (irrelevant to the question) to 5 (answers it)."""
        ...
