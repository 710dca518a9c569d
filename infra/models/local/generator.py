"""Answers without a language model: quotations from the context that answer the question, with citations.

It rephrases and concludes nothing (`infra/models/local/answers/`). Invariants: every quotation occurs in a passage or a
text of the context, apart from white space and omitted cells of a row; it cites that passage, or the citation of that
text (else it is marked as unsupported); if no quotation supports an answer, the answer reports it and cites nothing. A
question about the whole corpus has no content words: its answer quotes the beginnings of the texts, in their order. A
passage that a later document contradicts is not quoted. Cost: linear in the context.
"""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from textwrap import indent

from graphtide.graph.retrieval.question_words import is_corpus_question
from graphtide.graph.text.quotation import neutralise
from graphtide.infra.models.local.answers.choosing.rendering import Quotation, rendered
from graphtide.infra.models.local.answers.choosing.selection import RuleAnswer, answer_by_relevance, answer_by_rules
from graphtide.infra.models.local.answers.matching.scoring import score_units
from graphtide.infra.models.local.answers.matching.types import AnswerEvidence, Relevance
from graphtide.infra.models.local.answers.questions.compound import is_about, parts_of
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.questions.types import QuestionPlan
from graphtide.infra.models.local.answers.segmentation import units_of
from graphtide.infra.models.local.answers.themes import beginnings
from graphtide.infra.models.local.answers.units import Unit, UnitKind
from graphtide.infra.models.local.answers.values.dates import days_in, months_named
from graphtide.infra.models.local.answers.words import keys_of, words_of
from graphtide.infra.models.local.unit_reader import UnitReader, titled
from graphtide.infra.models.replies.citation_checker import UNSUPPORTED, cited_sentences
from graphtide.streams.model_ports import ContextPart, ContextPassage, Embedder, Generated, PartAnswer, citable
from graphtide.streams.scheduling.fair_queue import Slots
from graphtide.streams.scheduling.work_pool import WorkPool
from graphtide.streams.usage import payer

NOTHING_FITS = "Nothing in the documents found answers this. (No language model is configured: answers are quotations.)"
CONTEXT_PASSAGES = 40
"""Passages that it reads for a question: sentences are compared with each other, so more than a model needs."""
MAX_COMPARED = 64
"""Units whose similarity to the question is computed: those that cover most of its words."""
_RULES = "offline-extractive-22"
_SUPPORTS = 0.8
"""Minimum share of a sentence's words in a source that is cited for it."""
_FAIR_RATING = 50
_LARGE_AT_ONCE = 2
_SMALL_CHARS = 1_000
"""Characters of a context that are processed in about a millisecond."""
_MAX_QUOTED_CHARS = 900
CODE_INDENT = "    "


class ExtractiveGenerator:
    """The Generator that quotes. With an ``embedder``, similarity of meaning counts beside shared words; with a
    ``reader``, what a cross-encoder finds in question and unit together counts most.

    It runs in ``pool``.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        reader: UnitReader | None = None,
        pool: WorkPool | None = None,
    ) -> None:
        self._embedder = embedder
        self._reader = reader
        self._pool = pool or WorkPool()
        self._slots = Slots(_LARGE_AT_ONCE)

    @property
    def name(self) -> str:
        return f"{_RULES}+{self._reader.name}" if self._reader else _RULES

    @property
    def reader(self) -> UnitReader | None:
        """Return what reads units, if anything does beside the rules."""
        return self._reader

    @property
    def context_passages(self) -> int:
        """Return how many passages it wants to read for a question, at most."""
        return CONTEXT_PASSAGES

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """See ``streams.model_ports.Generator``. Linear in the context; calls no model except the embedder, if any."""
        chosen = await self._choose(question, context, parts)
        if not chosen:
            return Generated(NOTHING_FITS)
        return Generated(_joined(chosen), _cited(chosen))

    async def stream(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> AsyncIterator[str | Generated]:
        """Yield the answer word by word, then the whole."""
        whole = await self.answer(question, context, parts)
        for piece in re.findall(r"(?<!\s)\s*+\S++", whole.text):
            yield piece
        yield whole

    async def answer_part(self, question: str, part: ContextPart) -> PartAnswer:
        """See `Generator.answer_part`. The rating is the share of the question's words in the quotations."""
        chosen = await self._choose(question, (), [part])
        if not chosen:
            return PartAnswer("", 0)
        asked = plan_of(question).keys
        covered = asked & frozenset().union(*(one.unit.keys | one.unit.title_keys for one in chosen))
        rating = round(100 * len(covered) / len(asked)) if asked and not is_corpus_question(question) else _FAIR_RATING
        return PartAnswer(_joined(chosen), max(1, rating), _cited(chosen))

    async def _choose(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart]
    ) -> list[Quotation]:
        if _chars(context, parts) <= _SMALL_CHARS:
            return await self._chosen(question, context, parts, small=True)
        # One after another: interleaved step by step, many questions would all miss their deadlines together.
        async with self._slots.one(payer().graph):
            return await self._chosen(question, context, parts, small=False)

    async def _chosen(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart], *, small: bool
    ) -> list[Quotation]:
        units = await self._pool.run(partial(_units, context, parts), small=small)
        if is_corpus_question(question):
            return _beginnings(question, units)
        whole = await self._quoted(question, units, bool(context), small)
        found, answered = [whole], [one.unit for one in whole]
        for part in reversed(parts_of(question) if whole else ()):  # the first one if the second adds nothing
            quoted = await self._quoted(part.text, units, bool(context), small)
            found.append([one for one in quoted if is_about(part, one.unit, answered)])
            if any(all(one.unit is not unit for unit in answered) for one in found[-1]):
                break
        return _merged(found)

    async def _quoted(self, question: str, units: list[Unit], reads: bool, small: bool) -> list[Quotation]:
        """Return the quotations that answer a question, or one part of a compound one."""
        plan = plan_of(question)
        if not (plan.terms or plan.to_do or plan.bound) or not units:
            return []
        similar = await self._similarities(plan, units, small)
        # Each job waits for the interpreter lock twice beside heavy work, so steps without a model between are one.
        evidence, by_rules = await self._pool.run(partial(_by_rules, plan, units, similar), small=small)
        relevance = None
        if not plan.terms:  # "what is left to do" and "what is on in May" say nothing that a unit could have
            return rendered(evidence, by_rules.chosen if by_rules.is_stated else ())
        # Without passages, the context is one of many parts of a graph's reports: it is answered by rules alone.
        if self._reader is not None and reads:
            covered = by_rules.covers_most and not (plan.how or plan.defines)
            relevance = await self._reader.relevance(evidence, covered=covered)
        return await self._pool.run(partial(_rendered, evidence, relevance, by_rules), small=small)

    async def _similarities(self, plan: QuestionPlan, units: list[Unit], small: bool) -> list[float]:
        """Return the similarity of each unit to the question; that of the least similar one for units that share too
        little with it to be compared.
        """
        if self._embedder is None:
            return [0.0] * len(units)
        first = await self._pool.run(partial(_best_covering, plan, units), small=small)
        vectors = await self._embedder.embed([plan.text, *(titled(units[place]) for place in first)])
        values = [float(value) for value in vectors[1:] @ vectors[0]]
        found = dict(zip(first, values, strict=True))
        lowest = min(values, default=0.0)
        return [found.get(place, lowest) for place in range(len(units))]


def _merged(parts: Sequence[list[Quotation]]) -> list[Quotation]:
    """Return the quotations of the parts of a question in their order, each once: a sentence may answer several parts.
    Of several texts of a sentence the longest counts, which names its day or its writer.
    """
    found: dict[tuple[int, bool], Quotation] = {}
    for one in (one for part in parts for one in part):
        key = id(one.unit), one.is_code
        if key not in found or len(one.text) > len(found[key].text):
            found[key] = one
    return list(found.values())


def _beginnings(question: str, units: list[Unit]) -> list[Quotation]:
    """Return the beginnings of the texts; if the question names months, of those that are of them, by the day of the
    document or the heading, else of those that name a day of them.
    """
    months = months_named(words_of(question))
    if not months:
        return beginnings(units)
    dated = [unit for unit in units if unit.date[1] in months]
    dated = dated or [unit for unit in units if any(day[1] in months for day in days_in(unit.text))]
    return sorted(beginnings(dated, by_day=True), key=lambda one: one.unit.date)


def _by_rules(plan: QuestionPlan, units: list[Unit], similar: list[float]) -> tuple[AnswerEvidence, RuleAnswer]:
    evidence = score_units(plan, units, similar)
    return evidence, answer_by_rules(evidence)


def _rendered(evidence: AnswerEvidence, relevance: Relevance | None, by_rules: RuleAnswer) -> list[Quotation]:
    """Return the quotations that the models choose, or the rules without `relevance`."""
    chosen = by_rules.chosen if relevance is None else answer_by_relevance(evidence, relevance, by_rules)
    return rendered(evidence, chosen)


def _best_covering(plan: QuestionPlan, units: list[Unit]) -> list[int]:
    """Return the places of the units that cover most of the question, in their order."""
    scored = score_units(plan, units, [0.0] * len(units)).scored
    order = sorted(range(len(units)), key=lambda place: -scored[place].score)
    return sorted(order[:MAX_COMPARED])


def _chars(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> int:
    return sum(len(one.text) for one in context) + sum(len(one.text) for one in parts)


def _units(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> list[Unit]:
    """Return the units of the passages, which cite them, and the sentences of the parts, which cite what these cite."""
    units = units_of(context)
    for unit in units:
        unit.cites = (unit.origin,)
        if unit.code is not None:
            unit.code.cites = (unit.code.origin,)
    numbers = {one.chunk_id: number for number, one in enumerate(citable(context, parts))}
    for origin, part in enumerate(parts, len(context)):
        units.extend(_part_units(part, origin, numbers))
    return [unit for unit in units if unit.keys]


def _part_units(part: ContextPart, origin: int, numbers: dict[str, int]) -> Iterable[Unit]:
    cites = _citing(part)
    title = keys_of(part.title)
    for place, (text, given) in enumerate(cited_sentences(part.text)):
        own = text.replace(UNSUPPORTED, " ")  # the mark of a part's answer: no document's text has one in a part
        unit = Unit(" ".join(own.split()), 0, 0, UnitKind.SENTENCE, origin, place, place, title=part.title)
        unit.keys, unit.title_keys = keys_of(own), title
        named = (numbers[part.sources[local].chunk_id] for local in cites(text, given))
        unit.cites = tuple(dict.fromkeys(named))
        yield unit


def _citing(part: ContextPart) -> Callable[[str, tuple[int, ...]], tuple[int, ...]]:
    """Return the function that gives the sources of a part's sentence, from the numbers that it cites."""
    marked = any(given for _, given in cited_sentences(part.text))
    words = [] if marked else [keys_of(source.text) for source in part.sources]

    def cites(text: str, given: tuple[int, ...]) -> tuple[int, ...]:
        if marked:
            return tuple(number - 1 for number in given if 0 < number <= len(part.sources))
        content = keys_of(text)
        shares = [len(content & present) / len(content) if content else 0.0 for present in words]
        best = max(range(len(shares)), key=shares.__getitem__, default=None)
        return () if best is None or shares[best] < _SUPPORTS else (best,)

    return cites


def _joined(chosen: Sequence[Quotation]) -> str:
    """Return the quotations with their citations: sentences in one line, rows and items in lines of their own, code
    indented between empty lines, as Markdown has it.
    """
    rows = len(chosen) > 1 and any(one.unit.kind is UnitKind.ROW or one.listed for one in chosen)
    text, before = "", ""
    for one in chosen:
        apart = "\n\n" if one.is_code else before or ("\n" if rows else " ")
        text += (apart if text else "") + _quoted(one)
        before = "\n\n" if one.is_code else ""
    return text


def _quoted(one: Quotation) -> str:
    """Return a quotation with its citations, or with the mark of an unsupported one."""
    marks = "".join(f"[{number + 1}]" for number in one.unit.cites) or UNSUPPORTED
    if one.is_code:
        return f"{indent(neutralise(one.text), CODE_INDENT)}\n\n{marks}"
    return f"{neutralise(one.text[:_MAX_QUOTED_CHARS])} {marks}"


def _cited(chosen: Sequence[Quotation]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for one in chosen for number in one.unit.cites))
