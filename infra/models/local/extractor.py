"""Extraction without a model: names, terms, dates, quantities, and the plain statements of sentences and tables.

A language model finds more. Invariants: every name occurs in the text or its title (a date in one normal form), every
evidence is a slice of the text, letter by letter; the same input gives the same output in every process; time is linear
in the text, whatever the text.
"""

from functools import partial

from graphtide.graph.algorithms.yield_points import with_yields, yield_point
from graphtide.infra.models.local.dependency_clauses import MAX_CHARS, DependencyReader, load_parser
from graphtide.infra.models.local.english.clauses import ClauseReader
from graphtide.infra.models.local.english.collecting import StatementCollector
from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.lexical.dates import measures_in
from graphtide.infra.models.local.english.lexical.text import TextSentence, sentences_of
from graphtide.infra.models.local.english.mentions import Item, SentenceReader
from graphtide.infra.models.local.english.rows import RowReader
from graphtide.infra.models.local.english.structure import PassageBlock, blocks_of, topic_of
from graphtide.streams.model_ports import ExtractionResult
from graphtide.streams.scheduling.work_pool import WorkPool

_SMALL_CHARS = 500  # about 1 ms of work: a longer text goes to a thread, so that the event loop stays free
_MAX_LISTED_CHARS = 80

_Sentences = list[tuple[TextSentence, list[Item]]]


class OfflineExtractor:
    """The Extractor that needs no model (see the module). It runs in `pool`."""

    def __init__(self, pool: WorkPool | None = None) -> None:
        self._pool = pool or WorkPool()

    @property
    def name(self) -> str:
        return "offline-rules-2"

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See ``streams.model_ports.Extractor``. Never raises; a text without plain English may give no result."""
        return await self._pool.run(partial(extract, text, title), small=len(text) <= _SMALL_CHARS)


class ParsingExtractor(OfflineExtractor):
    """The Extractor that reads prose with a dependency parser, for the extra `nlp`; tables and names as above."""

    def __init__(self, pool: WorkPool | None = None) -> None:
        """Load the model. Raises ImportError with the remedy if it is not installed."""
        super().__init__(pool)
        load_parser()

    @property
    def name(self) -> str:
        return "offline-parser-1"

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See ``streams.model_ports.Extractor``. Never raises. Always in a thread: a sentence takes milliseconds."""
        return await self._pool.run(partial(extract, text, title, parse=True), small=False)


def extract(text: str, title: str = "", *, parse: bool = False) -> ExtractionResult:
    """Extract synchronously. Cost: about 1.5 ms of CPU time for 500 characters; 20 ms if prose is parsed."""
    return _Reading(text, title).found(parse=parse)


class _Reading:
    """State of one text while it is read: first every sentence's items and all names, then the statements in order."""

    def __init__(self, text: str, title: str) -> None:
        self._text = text
        self._topic = topic_of(title)
        self._discourse = Discourse()
        self._collector = StatementCollector(text)
        blocks = list(blocks_of(text))
        parts = [[*self._parts(block)] for block in blocks]
        known = frozenset(_capitals_inside([s for part in parts for s in part])) | frozenset(
            [title] if " " not in title else []
        )
        self._blocks = [
            (block, [(sentence, self._items(text, sentence, known)) for sentence in part])
            for block, part in zip(blocks, parts, strict=True)
        ]
        for _, read in self._blocks:
            for _, items in read:
                self._introduce(items)
        self._take_topic(known)

    def _parts(self, block: PassageBlock) -> list[TextSentence]:
        """Return the sentences of a block; each cell of a row is read on its own."""
        spans = [(cell.start, cell.end) for cell in block.cells] or [(block.start, block.end)]
        return [sentence for start, end in spans for sentence in sentences_of(self._text, start, end)]

    def _items(self, text: str, sentence: TextSentence, known: frozenset[str]) -> list[Item]:
        yield_point()
        measures = measures_in(text, sentence.start, sentence.end)
        return SentenceReader(text, sentence.tokens, measures, known).read()

    def _introduce(self, items: list[Item]) -> None:
        for at, item in enumerate(items):
            if item.kind != "name":
                continue
            self._discourse.introduce(item.text, item.type)
            bracketed = at + 3 < len(items) and items[at + 1].kind == "open" and items[at + 3].kind == "close"
            if bracketed and items[at + 2].kind == "name":
                short, long = sorted((item.text, items[at + 2].text), key=len)
                self._discourse.abbreviate(short, long)

    def _take_topic(self, known: frozenset[str]) -> None:
        """Let pronouns at the beginning refer to the topic if it, or the first name in it, is a name."""
        plain = self._topic.name
        names: list[str] = []
        if plain and plain in self._text and plain[:1].isupper() and len(plain.split()) <= 6:
            names.append(plain)
        for sentence in sentences_of(plain):
            names.extend(item.text for item in self._items(plain, sentence, known) if item.kind == "name")
        if names:
            self._discourse.set_topic(names[0])
        self._discourse.topic = self._discourse.full(plain)

    def found(self, *, parse: bool = False) -> ExtractionResult:
        """Return the entities and relations of the text; `parse`: read prose with the dependency parser."""
        if self._discourse.topic:
            first = next((block for block, _ in self._blocks if not block.cells), None)
            described = self._text[first.start : first.end] if first is not None else ""
            self._collector.add(self._discourse.topic, self._discourse.type_of(self._discourse.topic), described)
        rows = RowReader(self._text, self._discourse)
        for block, read in self._blocks:
            if block.cells:
                for sentence, items in read:
                    self._mention(items, sentence, self._text[block.start : block.end])
                for statement in rows.read(block, [items for _, items in read]):
                    self._collector.relate(statement, self._text[block.start : block.end])
            else:
                for sentence, items in read:
                    self._mention(items, sentence, self._text[sentence.start : sentence.end])
                (self._parsed if parse else self._prose)(block, read)
                self._listed(block, read)
        return self._collector.result()

    def _prose(self, _: PassageBlock, read: _Sentences) -> None:
        for sentence, items in with_yields(read, 1):
            for statement in ClauseReader(items, self._discourse).read():
                self._collector.relate(statement, self._text[sentence.start : sentence.end])

    def _parsed(self, _: PassageBlock, read: _Sentences) -> None:
        reader = DependencyReader(self._discourse)
        for start, end in _pieces([sentence for sentence, _ in read]):
            for sentence in reader.read(self._text[start:end]):
                evidence = self._text[start + sentence.start : start + sentence.end]
                for name in sentence.names:
                    self._collector.add(self._discourse.full(name.name), name.type, evidence)
                for statement in sentence.statements:
                    self._collector.relate(statement, evidence)

    def _listed(self, block: PassageBlock, read: _Sentences) -> None:
        if self._topic.heading and len(read) == 1 and block.end - block.start <= _MAX_LISTED_CHARS:
            for statement in RowReader(self._text, self._discourse).listed(self._topic.heading, read[0][1]):
                self._collector.relate(statement, self._text[block.start : block.end])

    def _mention(self, items: list[Item], sentence: TextSentence, evidence: str) -> None:
        for at, item in enumerate(items):
            if item.kind == "name":
                name = self._discourse.full(item.text)
                kind = item.type if name == item.text else self._discourse.type_of(name)
                self._collector.add(name, kind, evidence)
                self._introduction(items[at : at + 4], evidence)
            elif item.kind in ("date", "quantity"):
                self._collector.add(item.text, item.type, evidence)
            elif item.kind == "term" and " " in item.text and not item.owner:
                self._collector.repeat(" ".join(item.text.split()), sentence)

    def _introduction(self, items: list[Item], evidence: str) -> None:
        """Add "Norwegian Polar Institute (NPI)" as a name of its own: it ties the acronym to the name in the graph."""
        if [item.kind for item in items] != ["name", "open", "name", "close"]:
            return
        short, long = sorted((items[0].text, items[2].text), key=len)
        if self._discourse.abbreviate(short, long):
            kind = self._discourse.type_of(long)
            self._collector.add(short, kind, evidence)
            self._collector.add(" ".join(self._text[items[0].start : items[3].end].split()), kind, evidence)


def _pieces(sentences: list[TextSentence]) -> list[tuple[int, int]]:
    """Return spans of whole sentences, each as long as the parser takes."""
    pieces: list[tuple[int, int]] = []
    for sentence in sentences:
        if pieces and sentence.end - pieces[-1][0] <= MAX_CHARS:
            pieces[-1] = (pieces[-1][0], sentence.end)
        else:
            pieces.append((sentence.start, sentence.end))
    return pieces


def _capitals_inside(sentences: list[TextSentence]) -> list[str]:
    """Return words written with a capital where no sentence begins: names, whatever else they may be."""
    found: list[str] = []
    for sentence in sentences:
        for before, token in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.capital and before.kind == "word" and not before.capital:
                found.append(token.text.removesuffix("'s").removesuffix("\u2019s"))
    return found
