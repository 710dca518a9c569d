"""Estimate of the extraction cost of some documents, before a call is made: calls, tokens, money, and the memo's
savings.

No network, and no data of the graph: it counts the requests of the extract stage. Prompts are counted as they would be
sent; the length of answers is estimated, from the model's past answers if there are any
(`infra/models/usage/expectations.py`). Tokens are counted roughly (`graph/text/token_count.py`), not by the model's own
tokenizer.

Left out: questions, reports, summaries of entities and verdicts on pairs; second calls for unusable answers; cached
embeddings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphtide.graph.text.place import PassageKind, path_title
from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.usage.accounting import Price
from graphtide.infra.models.usage.expectations import Expectations
from graphtide.streams.extract.contributions.texts import passage_text
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.model_ports import Chunker
from graphtide.streams.usage import ModelUsage, Stage

EMBEDDED_RATIO = 1.1
"""Tokens of names and relations, which are embedded too, for each token of a passage. (Measured as above: 1.08.)"""


@dataclass(frozen=True, slots=True)
class Estimate:
    """`llm` is the expected cost; `saved` the cost that the memo, or the same text elsewhere in the files, avoids."""

    documents: int = 0
    brought: int = 0
    """Documents that bring their facts along: nothing is extracted for them."""
    passages: int = 0
    llm: ModelUsage = field(default_factory=ModelUsage)
    saved: ModelUsage = field(default_factory=ModelUsage)
    embedding: ModelUsage = field(default_factory=ModelUsage)


@dataclass(frozen=True, slots=True)
class Reader:
    """Prompt and memo of a graph's documents: `asked` makes the prompt, `memo` is checked before it."""

    chunker: Chunker
    asked: OpenAIExtractor
    memo: MemoisedExtractor


class Estimator:
    """Counter of documents, one by one; `prices` by "language" and "embedding"."""

    def __init__(self, reader: Reader, expected: Expectations, prices: Mapping[str, Price]) -> None:
        self._reader = reader
        self._expected = expected
        self._prices = prices
        self._seen: set[bytes] = set()
        self._documents = self._brought = self._passages = 0
        self._paid, self._spared, self._embedded = ModelUsage(), ModelUsage(), 0

    async def add(self, document: DocumentMessage) -> None:
        """Count a document."""
        chunker, media_type = self._reader.chunker, document.media_type
        passages = chunker.split(document.text, media_type)
        stated = document.info.title or chunker.describe(document.text, media_type).title
        brought = document.entities is not None or document.facts is not None
        self._documents += 1
        self._brought += brought
        self._passages += len(passages)
        for passage in passages:
            title = path_title(stated, passage.place)
            tokens = count_tokens(passage_text(title, passage.text))
            self._embedded += round(tokens * (1 + EMBEDDED_RATIO))
            if not brought and passage.place.kind is not PassageKind.CODE:
                await self._count(passage.text, title)

    async def _count(self, text: str, title: str) -> None:
        cost = sum((self._call(*call) for call in self._reader.asked.calls(text, title)), ModelUsage())
        key = self._reader.memo.key(title, text)
        if key in self._seen or await self._reader.memo.remembers(text, title=title):
            self._spared += cost
        else:
            self._paid += cost
        self._seen.add(key)

    def _call(self, stage: Stage, prompt: int, material: int) -> ModelUsage:
        completion = self._expected.completion(stage, material)
        shown = self._expected.completion(Stage.EXTRACT, material) if stage is Stage.GLEAN else 0
        price = self._prices.get("language", Price())
        return ModelUsage(1, prompt + shown, completion, price.of(prompt + shown, completion))

    def result(self) -> Estimate:
        """Return the count so far."""
        cost = self._prices.get("embedding", Price()).of(self._embedded, 0)
        embedding = ModelUsage(0, self._embedded, 0, cost)
        counts = (self._documents, self._brought, self._passages)
        return Estimate(*counts, self._paid, self._spared, embedding)
