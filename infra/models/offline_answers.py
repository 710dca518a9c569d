"""Answers without a model: the sentences of the context that fit the question best, word for word, with citations.

Not a generator: nothing is rephrased, combined or concluded. Invariant: every sentence of an answer stands in the
passage it cites, and where no sentence shares enough with the question the answer says so and cites nothing.
"""

import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from infra.models.offline.dates import measures_in
from infra.models.offline.text import sentences_of
from infra.models.offline.verbs import VERBS
from infra.models.offline.words import OPENERS
from streams.models import ContextPassage, Embedder, Generated

NOTHING_FITS = "Nothing in the documents found answers this. (No language model is configured: answers are quotations.)"
_WORD = re.compile(r"[^\W_]+")
_QUESTION_WORDS = frozenset({"who", "what", "when", "where", "which", "why", "how", "whom", "whose", "name", "tell"})
_PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these", "that", "those"})
_MAX_SENTENCE_CHARS = 600
_SIMILARITY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class _Candidate:
    passage: int
    text: str
    words: frozenset[str]
    titled: frozenset[str]
    dated: bool
    dangling: bool
    """Whether it opens with a pronoun, and so says little when it is quoted alone."""


class ExtractiveGenerator:
    """The Generator that quotes. With an ``embedder``, similarity of meaning counts beside shared words."""

    def __init__(self, embedder: Embedder | None = None, *, max_sentences: int = 3, least_share: float = 0.4) -> None:
        self._embedder = embedder
        self._max_sentences = max_sentences
        self._least_share = least_share

    @property
    def name(self) -> str:
        return "offline-extractive-1"

    async def answer(self, question: str, context: Sequence[ContextPassage]) -> Generated:
        """See ``streams.models.Generator``. Linear in the context; no model is called but the embedder, if any."""
        chosen = await self._choose(question, context)
        if not chosen:
            return Generated(NOTHING_FITS)
        numbers = {passage: number for number, passage in enumerate(dict.fromkeys(c.passage for c in chosen))}
        text = " ".join(f"{candidate.text} [{candidate.passage + 1}]" for candidate in chosen)
        return Generated(text, tuple(numbers))

    async def stream(self, question: str, context: Sequence[ContextPassage]) -> AsyncIterator[str | Generated]:
        """The answer word by word, then the whole."""
        whole = await self.answer(question, context)
        for piece in re.findall(r"\s*\S+", whole.text):
            yield piece
        yield whole

    async def _choose(self, question: str, context: Sequence[ContextPassage]) -> list[_Candidate]:
        asked = _content(question) - _QUESTION_WORDS
        candidates = [c for at, passage in enumerate(context) for c in _candidates(at, passage)]
        if not asked or not candidates:
            return []
        weights = _rarity(candidates, asked)
        similar = await self._similarities(question, candidates)
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
        """The first sentence must share enough with the question; a further one must add what is still missing."""
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


def _candidates(at: int, passage: ContextPassage) -> list[_Candidate]:
    title = _content(passage.title)
    found: list[_Candidate] = []
    for sentence in sentences_of(passage.text):
        quoted = " ".join(passage.text[sentence.start : sentence.end][:_MAX_SENTENCE_CHARS].split())
        words = _content(quoted)
        if words:
            dated = any(m.type == "date" for m in measures_in(passage.text, sentence.start, sentence.end).values())
            dangling = quoted.split(maxsplit=1)[0].casefold() in _PRONOUNS
            found.append(_Candidate(at, quoted, words, title, dated, dangling))
    return found


def _content(text: str) -> frozenset[str]:
    """The words that carry meaning, each in its base form."""
    words = (word for word in _WORD.findall(text.casefold()) if word not in OPENERS)
    return frozenset(map(_base, words))


def _base(word: str) -> str:
    """A key that the forms of one word share, as far as endings tell; it is compared, never shown."""
    form = VERBS.get(word)
    base = word if form is None else form.base
    for ending, left in (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("s", "")):
        if base.endswith(ending) and len(base) - len(ending) >= 3 and not base.endswith("ss"):
            base = base.removesuffix(ending) + left
            break
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "aeiouls":
        base = base[:-1]  # planned, planning
    return base.removesuffix("e") if len(base) > 3 else base


def _rarity(candidates: list[_Candidate], asked: frozenset[str]) -> dict[str, float]:
    """Inverse document frequency of the question's words over the candidate sentences (Spärck Jones 1972)."""
    counts = Counter(word for c in candidates for word in c.words & asked)
    return {word: math.log(1 + (len(candidates) + 1) / (counts[word] + 0.5)) for word in asked}


def _score(candidate: _Candidate, asked: set[str] | frozenset[str], weights: dict[str, float]) -> float:
    """The share of the question's weight that the sentence covers; a word of the title counts for half."""
    total = sum(weights[word] for word in asked)
    inside = sum(weights[word] for word in asked & candidate.words)
    titled = sum(weights[word] for word in (asked & candidate.titled) - candidate.words)
    return (inside + titled / 2) / total if total else 0.0


def _repeats(candidate: _Candidate, chosen: list[_Candidate]) -> bool:
    return any(len(candidate.words & c.words) >= 0.8 * len(candidate.words | c.words) for c in chosen)
