"""Answers without a model: the sentences of the context that best match the question, word for word, with citations.

It rephrases and concludes nothing. Invariants: every sentence of an answer occurs in a passage or a text of the
context; it cites that passage, or the citation of that text (else the source that has nearly all of its words, else it
is marked as unsupported); and if no sentence shares enough words with the question, the answer reports it and cites
nothing. A question about the whole corpus ("What are the main themes?") has no content words: its answer quotes the
beginnings of the texts, in their order. A passage that a later document contradicts is not quoted.
"""

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial

from graphtide.graph.quotation import neutralise
from graphtide.infra.models.local.english.dates import measures_in
from graphtide.infra.models.local.english.text import sentences_of
from graphtide.infra.models.local.english.verbs import VERBS
from graphtide.infra.models.local.english.words import OPENERS
from graphtide.infra.models.replies.citation_checker import UNSUPPORTED, cited_sentences
from graphtide.streams.fair_queue import Slots
from graphtide.streams.model_ports import ContextPart, ContextPassage, Embedder, Generated, PartAnswer, citable
from graphtide.streams.usage import payer
from graphtide.streams.work_pool import WorkPool

NOTHING_FITS = "Nothing in the documents found answers this. (No language model is configured: answers are quotations.)"
_WORD = re.compile(r"[^\W_]+")
_QUESTION_WORDS = frozenset({"who", "what", "when", "where", "which", "why", "how", "whom", "whose", "name", "tell"})
_PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these", "that", "those"})
_ABOUT_EVERYTHING = (
    "main major key general common central overall theme topic subject trend pattern finding insight summary summarise "
    "summarize overview document text corpus collection dataset data report article passage source describe explain "
    "list discuss cover mention concern say happen there about across all most important"
)
_MAX_SENTENCE_CHARS = 600
_MAX_TEXTS = 6
_SUPPORTS = 0.8
"""Minimum share of a sentence's words in a source that is cited for it."""
_FAIR_RATING = 50
_LARGE_AT_ONCE = 2
_SMALL_CHARS = 2_000
"""Characters of a context that are processed in about a millisecond."""
_SIMILARITY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    words: frozenset[str]
    titled: frozenset[str]
    dated: bool
    dangling: bool
    """True if it opens with a pronoun, and so has little meaning when it is quoted alone."""
    origin: int
    """Index of its passage or text."""
    cites: tuple[int, ...]

    @property
    def quoted(self) -> str:
        """Return the sentence with its citations, or with the mark of an unsupported one."""
        marks = "".join(f"[{number + 1}]" for number in self.cites) or UNSUPPORTED
        return f"{self.text} {marks}"


class ExtractiveGenerator:
    """The Generator that quotes. With an ``embedder``, similarity of meaning counts beside shared words.

    It runs in ``pool``.
    """

    def __init__(
        self,
        embedder: Embedder | None = None,
        *,
        max_sentences: int = 3,
        least_share: float = 0.4,
        pool: WorkPool | None = None,
    ) -> None:
        self._embedder = embedder
        self._pool = pool or WorkPool()
        self._slots = Slots(_LARGE_AT_ONCE)
        self._max_sentences = max_sentences
        self._least_share = least_share

    @property
    def name(self) -> str:
        return "offline-extractive-2"

    async def answer(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart] = ()
    ) -> Generated:
        """See ``streams.model_ports.Generator``. Linear in the context; calls no model except the embedder, if any."""
        chosen = await self._choose(question, context, parts)
        if not chosen:
            return Generated(NOTHING_FITS)
        return Generated(" ".join(candidate.quoted for candidate in chosen), _cited(chosen))

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
        asked = _asked(question)
        covered = asked & frozenset().union(*(candidate.words | candidate.titled for candidate in chosen))
        rating = round(100 * len(covered) / len(asked)) if asked else _FAIR_RATING
        return PartAnswer(" ".join(candidate.quoted for candidate in chosen), max(1, rating), _cited(chosen))

    async def _choose(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart]
    ) -> list[_Candidate]:
        small = _chars(context, parts) <= _SMALL_CHARS
        if small:
            return await self._chosen(question, context, parts, small=True)
        # One after another: interleaved step by step, many questions would all miss their deadlines together.
        async with self._slots.one(payer().graph):
            return await self._chosen(question, context, parts, small=False)

    async def _chosen(
        self, question: str, context: Sequence[ContextPassage], parts: Sequence[ContextPart], *, small: bool
    ) -> list[_Candidate]:
        candidates = await self._pool.run(partial(_candidates, context, parts), small=small)
        asked = _asked(question)
        if not asked and _content(question) & _EVERYTHING:
            return _beginnings(candidates)
        if not asked or not candidates:
            return []
        similar = await self._similarities(question, candidates)
        return await self._pool.run(partial(self._best, question, candidates, similar), small=small)

    def _best(self, question: str, candidates: list[_Candidate], similar: list[float]) -> list[_Candidate]:
        asked = _asked(question)
        weights = _rarity(candidates, asked)
        wants_date = question.casefold().lstrip().startswith("when") or " year" in question.casefold()
        chosen: list[_Candidate] = []
        wanted = set(asked)
        while len(chosen) < self._max_sentences:
            best = max(
                (c for c in range(len(candidates)) if not _repeats(candidates[c], chosen)),
                key=lambda c: (
                    _score(candidates[c], wanted, weights)
                    + similar[c]
                    + 0.15 * (wants_date and candidates[c].dated)
                    - 0.3 * candidates[c].dangling
                ),
                default=None,
            )
            if best is None or not self._fits(candidates[best], asked, weights, chosen):
                break
            chosen.append(candidates[best])
            wanted -= candidates[best].words
            if not wanted:
                break
        return chosen

    def _fits(
        self, candidate: _Candidate, asked: frozenset[str], weights: dict[str, float], chosen: list[_Candidate]
    ) -> bool:
        """Return whether the first sentence shares enough with the question, or a further one adds missing words."""
        share = _score(candidate, asked, weights)
        if not chosen:
            return share >= self._least_share
        covered = frozenset().union(*(c.words for c in chosen))
        return share >= self._least_share / 2 and bool((candidate.words & asked) - covered)

    async def _similarities(self, question: str, candidates: list[_Candidate]) -> list[float]:
        if self._embedder is None:
            return [0.0] * len(candidates)
        vectors = await self._embedder.embed([question, *(c.text for c in candidates)])
        return [_SIMILARITY_SHARE * float(value) for value in vectors[1:] @ vectors[0]]


def _chars(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> int:
    return sum(len(one.text) for one in context) + sum(len(one.text) for one in parts)


def _asked(question: str) -> frozenset[str]:
    """Return the words to look for; none when the question is about the whole corpus."""
    words = _content(question) - _QUESTION_WORDS
    return words if words - _EVERYTHING else frozenset()


def _candidates(context: Sequence[ContextPassage], parts: Sequence[ContextPart]) -> list[_Candidate]:
    found = []
    for at, passage in enumerate(context):
        for sentence in sentences_of(passage.text):
            if any(passage.text[sentence.start : sentence.end] in piece for piece in passage.outdated):
                continue
            dated = any(m.type == "date" for m in measures_in(passage.text, sentence.start, sentence.end).values())
            found.append(_candidate(passage.text[sentence.start : sentence.end], passage.title, dated, at, (at,)))
    numbers = {one.chunk_id: number for number, one in enumerate(citable(context, parts))}
    for origin, part in enumerate(parts, len(context)):
        cites = _citing(part)
        for text, given in cited_sentences(part.text):
            dated = bool(re.search(r"\b\d{4}\b", text))
            named = tuple(numbers[part.sources[local].chunk_id] for local in cites(text, given))
            own = text.replace(UNSUPPORTED, " ")  # the mark of a part's answer: no document's text has one in a part
            found.append(_candidate(own, part.title, dated, origin, tuple(dict.fromkeys(named))))
    return [one for one in found if one.words]


def _candidate(text: str, title: str, dated: bool, origin: int, cites: tuple[int, ...]) -> _Candidate:
    quoted = neutralise(" ".join(text[:_MAX_SENTENCE_CHARS].split()))
    dangling = quoted.partition(" ")[0].casefold() in _PRONOUNS
    return _Candidate(quoted, _content(quoted), _content(title), dated, dangling, origin, cites)


def _citing(part: ContextPart) -> Callable[[str, tuple[int, ...]], tuple[int, ...]]:
    """Return the function that gives the sources of a part's sentence, from the numbers that it cites."""
    marked = any(given for _, given in cited_sentences(part.text))
    words = [] if marked else [_content(source.text) for source in part.sources]

    def cites(text: str, given: tuple[int, ...]) -> tuple[int, ...]:
        if marked:
            return tuple(number - 1 for number in given if 0 < number <= len(part.sources))
        content = _content(text)
        shares = [len(content & held) / len(content) if content else 0.0 for held in words]
        best = max(range(len(shares)), key=shares.__getitem__, default=None)
        return () if best is None or shares[best] < _SUPPORTS else (best,)

    return cites


def _beginnings(candidates: list[_Candidate]) -> list[_Candidate]:
    """Return the first sentence with new content of each of the first passages or texts."""
    chosen: list[_Candidate] = []
    for candidate in candidates:
        if candidate.origin not in {other.origin for other in chosen} and not _repeats(candidate, chosen):
            chosen.append(candidate)
    return chosen[:_MAX_TEXTS]


def _cited(chosen: list[_Candidate]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(number for one in chosen for number in one.cites))


def _content(text: str) -> frozenset[str]:
    """Return the words that carry meaning, each in its base form."""
    words = (word for word in _WORD.findall(text.casefold()) if word not in OPENERS)
    return frozenset(map(_base, words))


def _base(word: str) -> str:
    """Return a key shared by the forms of one word, as far as endings show it; it is compared, never displayed."""
    form = VERBS.get(word)
    base = word if form is None else form.base
    for ending, left in (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("s", "")):
        if base.endswith(ending) and len(base) - len(ending) >= 3 and not base.endswith("ss"):
            base = base.removesuffix(ending) + left
            break
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        base = base[:-1]  # planned, planning
    return base.removesuffix("e") if len(base) > 3 else base


_EVERYTHING = frozenset(map(_base, _WORD.findall(_ABOUT_EVERYTHING)))


def _rarity(candidates: list[_Candidate], asked: frozenset[str]) -> dict[str, float]:
    """Return the inverse document frequency of the question's words over the candidate sentences (Spärck
    Jones 1972).
    """
    counts = Counter(word for c in candidates for word in c.words & asked)
    return {word: math.log(1 + (len(candidates) + 1) / (counts[word] + 0.5)) for word in asked}


def _score(candidate: _Candidate, asked: set[str] | frozenset[str], weights: dict[str, float]) -> float:
    """Return the share of the question's weight that the sentence covers; a word of the title counts for half."""
    total = sum(weights[word] for word in asked)
    inside = sum(weights[word] for word in asked & candidate.words)
    titled = sum(weights[word] for word in (asked & candidate.titled) - candidate.words)
    return (inside + titled / 2) / total if total else 0.0


def _repeats(candidate: _Candidate, chosen: list[_Candidate]) -> bool:
    return any(len(candidate.words & c.words) >= 0.8 * len(candidate.words | c.words) for c in chosen)
