"""Extraction without a model: names, terms, dates, quantities, and the plain statements of sentences.

For trials and tests of Graphtide, not for quality: a language model finds far more. Invariants: every name occurs in
the text or its title (a date in one normal form), every evidence is a sentence of the text, letter by letter; the same
input gives the same output in every process; time is linear in the text, whatever the text.
"""

from functools import partial

from graphtide.infra.models.local.english.clauses import ClauseReader
from graphtide.infra.models.local.english.dates import measures_in
from graphtide.infra.models.local.english.discourse import Discourse
from graphtide.infra.models.local.english.mentions import Item, SentenceReader
from graphtide.infra.models.local.english.statements import ReadStatement, Reference
from graphtide.infra.models.local.english.text import TextSentence, sentences_of
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult
from graphtide.streams.work_pool import WorkPool

_SMALL_CHARS = 500  # about 1 ms of work: a longer text goes to a thread, so that the event loop stays free
_MAX_EVIDENCE_CHARS = 1_000
_MAX_DESCRIPTION_CHARS = 240
_MAX_REPEATED_TERMS = 12


class OfflineExtractor:
    """The Extractor that needs no model (see the module). It runs in `pool`."""

    def __init__(self, pool: WorkPool | None = None) -> None:
        self._pool = pool or WorkPool()

    @property
    def name(self) -> str:
        return "offline-rules-1"

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See ``streams.model_ports.Extractor``. Never raises; a text without plain English may give no result."""
        return await self._pool.run(partial(extract, text, title), small=len(text) <= _SMALL_CHARS)


def extract(text: str, title: str = "") -> ExtractionResult:
    """Extract synchronously. Cost: about 1 ms of CPU time for 500 characters."""
    return _Reading(text, title).found()


class _Reading:
    """State of one text while it is read: first every sentence's items and all names, then the statements in order."""

    def __init__(self, text: str, title: str) -> None:
        self._text = text
        self._discourse = Discourse()
        self._entities: dict[tuple[str, str], str] = {}
        self._relations: dict[tuple[str, str, str], ExtractedRelation] = {}
        self._terms: dict[str, list[TextSentence]] = {}
        sentences = list(sentences_of(text))
        known = frozenset(_capitals_inside(sentences)) | frozenset([title] if " " not in title else [])
        self._read = [(sentence, self._items(text, sentence, known)) for sentence in sentences]
        for _, items in self._read:
            self._introduce(items)
        self._take_title(title, known)

    def _items(self, text: str, sentence: TextSentence, known: frozenset[str]) -> list[Item]:
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

    def _take_title(self, title: str, known: frozenset[str]) -> None:
        """Set the topic from the title if it, or the first name in it, is a name."""
        plain = title.partition("(")[0].strip()
        names: list[str] = []
        if plain and plain in self._text and plain[:1].isupper() and len(plain.split()) <= 6:
            names.append(plain)
        for sentence in sentences_of(plain[:200]):
            names.extend(item.text for item in self._items(plain, sentence, known) if item.kind == "name")
        if names:
            self._discourse.set_topic(names[0])

    def found(self) -> ExtractionResult:
        for sentence, items in self._read:
            evidence = self._text[sentence.start : sentence.end]
            for item in items:
                self._mention(item, sentence, evidence)
            for statement in ClauseReader(items, self._discourse).read():
                self._relate(statement, evidence)
            self._abbreviations(items, evidence)
        self._repeated_terms()
        entities = tuple(
            ExtractedEntity(name, kind, description) for (name, kind), description in self._entities.items()
        )
        return ExtractionResult(entities, tuple(self._relations.values()))

    def _mention(self, item: Item, sentence: TextSentence, evidence: str) -> None:
        if item.kind == "name":
            name = self._discourse.full(item.text)
            kind = item.type if name == item.text else self._discourse.type_of(name)
            self._add(name, kind, evidence)
        elif item.kind in ("date", "quantity"):
            self._add(item.text, item.type, evidence)
        elif item.kind == "term" and " " in item.text and not item.owner:
            self._terms.setdefault(" ".join(item.text.split()), []).append(sentence)

    def _add(self, name: str, kind: str, evidence: str) -> None:
        described = " ".join(evidence[: _MAX_DESCRIPTION_CHARS * 2].split())[:_MAX_DESCRIPTION_CHARS]
        self._entities.setdefault((name, kind), described)

    def _relate(self, statement: ReadStatement, evidence: str) -> None:
        for end in (statement.subject, statement.object):
            self._add(end.name, end.type, evidence)
        subject, target = statement.subject.name, statement.object.name
        self._relations.setdefault(
            (subject, statement.predicate, target),
            ExtractedRelation(
                subject=subject,
                predicate=statement.predicate,
                object=target,
                description=f"{subject} {statement.predicate} {target}",
                weight=statement.weight,
                evidence=evidence if len(evidence) <= _MAX_EVIDENCE_CHARS else "",
                valid_from=statement.valid_from,
                valid_to=statement.valid_to,
            ),
        )

    def _abbreviations(self, items: list[Item], evidence: str) -> None:
        for at, item in enumerate(items[:-2]):
            if item.kind == "name" and items[at + 1].kind == "open" and items[at + 2].kind == "name":
                short, long = sorted((item.text, items[at + 2].text), key=len)
                if self._discourse.abbreviate(short, long):
                    kind = self._discourse.type_of(long)
                    self._add(short, kind, evidence)
                    ends = (Reference(long, kind), Reference(short, kind))
                    self._relate(ReadStatement(ends[0], "is abbreviated as", ends[1], 1.0), evidence)

    def _repeated_terms(self) -> None:
        """Add noun phrases of two words or more that the text repeats as entities of their own."""
        repeated = [(term, where) for term, where in self._terms.items() if len(where) > 1]
        repeated.sort(key=lambda pair: (-len(pair[1]), pair[0]))
        for term, where in repeated[:_MAX_REPEATED_TERMS]:
            self._add(term, "term", self._text[where[0].start : where[0].end])


def _capitals_inside(sentences: list[TextSentence]) -> list[str]:
    """Return words written with a capital where no sentence begins: names, whatever else they may be."""
    found: list[str] = []
    for sentence in sentences:
        for before, token in zip(sentence.tokens, sentence.tokens[1:], strict=False):
            if token.capital and before.kind == "word" and not before.capital:
                found.append(token.text.removesuffix("'s").removesuffix("\u2019s"))
    return found
