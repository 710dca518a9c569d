"""Entity descriptions: the descriptions of an entity in the live documents, merged within a token limit.

Within the limit each sentence is a document's description as extraction returned it. Beyond it, the text is the
model-written summary if there is a valid one (`graph/reports/entity_summaries.py`), otherwise the descriptions that
fit. Invariant: the merged text is a function of the live descriptions and of how often each is given, whatever their
order of arrival. When a document is deleted, the descriptions that only it gave are removed, and so is a summary that
cites it.

After GraphRAG's summaries of elements, which a language model writes. Deviations: no model is called where the
descriptions fit; and each sentence of a summary names the descriptions it is based on.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest

from graphtide.graph.reports.entity_summaries import EntitySummary, summary_key
from graphtide.graph.reports.fingerprint import fingerprint_of
from graphtide.graph.reports.rows import ReportFinding
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView

MAX_TOKENS = 500
MAX_READ = 1_000
"""Maximum number of passages read per entity; beyond it, the first by name."""
SHOWN_TOKENS = 3_000
"""Maximum number of tokens of descriptions in a model's prompt."""
CITED = 3
"""Maximum number of chunks cited per description."""
_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])\s+")
_MARKS = ".!?\u2026\u3002\uff01\uff1f"


@dataclass(frozen=True, slots=True)
class Description:
    """One description of an entity, how often it is given, and some of the chunks that give it, the first by name."""

    text: str
    count: int
    chunks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EntityProfile:
    """The input of an entity summary: an entity whose descriptions exceed the token limit. `called` is its summary key.

    `descriptions` are bounded, the most frequent ones, in the order of their texts; `fingerprint` is of all of them.
    """

    entity: str
    called: str
    name: str
    type: str
    descriptions: tuple[Description, ...]
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DescribedSentence:
    """A sentence of a summary, and the indices of the profile's descriptions that it is based on."""

    text: str
    of: tuple[int, ...]


def describe(view: LiveView, node: int, max_tokens: int = MAX_TOKENS) -> str:
    """Return the entity's description, the most frequent texts first, equal ones by text; cut at the end of a sentence.

    A valid summary takes precedence. Returns an empty text if no document describes the entity. Call under
    `view.lock.read()`. Cost: its passages, and the mentions of MAX_READ of them.
    """
    summary = view.summaries.summary(view, node)
    if summary is not None and count_tokens(summary.text) <= max_tokens:
        return summary.text
    given = {text: entry.count for text, entry in _given(view, node).items()}
    return merge_descriptions(Counter(given), max_tokens)


def profile(view: LiveView, node: int) -> EntityProfile | None:
    """Return the input of a summary; None if the descriptions fit together. Lock and cost as of `describe`."""
    given = _given(view, node)
    counts = Counter({text: entry.count for text, entry in given.items()})
    if not given or not _joined(counts, MAX_TOKENS)[1]:
        return None
    shown = sorted(_most_frequent(counts), key=lambda text: (text.casefold(), text))
    descriptions = tuple(
        Description(text, counts[text], tuple(view.chunks[number].chunk_id for number in given[text].chunks[:CITED]))
        for text in shown
    )
    entity, fingerprint = view.entities[node], fingerprint_of(counts).encode()
    return EntityProfile(entity.id, summary_key(view, node), entity.name, entity.type, descriptions, fingerprint)


def extractive_summary(source: EntityProfile) -> tuple[DescribedSentence, ...]:
    """Return the extractive summary: the most frequent descriptions, as many as fit."""
    order = sorted(range(len(source.descriptions)), key=lambda at: (-source.descriptions[at].count, at))
    taken, left = [], MAX_TOKENS
    for at in order:
        text = _ended(source.descriptions[at].text)
        left -= count_tokens(text)
        if left < 0:
            break
        taken.append(DescribedSentence(text, (at,)))
    return tuple(taken) or (
        DescribedSentence(_first_words(source.descriptions[order[0]].text, MAX_TOKENS), (order[0],)),
    )


def summary_of(source: EntityProfile, sentences: Iterable[DescribedSentence], version: int) -> EntitySummary:
    """Return a summary: each sentence with the chunks of the descriptions that it is based on."""
    findings = []
    for sentence in sentences:
        chunks = dict.fromkeys(chunk for at in sentence.of for chunk in source.descriptions[at].chunks)
        findings.append(ReportFinding(sentence.text, tuple(chunks)))
    sources = tuple(dict.fromkeys(chunk for finding in findings for chunk in finding.chunks))
    text = " ".join(finding.text for finding in findings)
    return EntitySummary(source.called, source.fingerprint, version, text, sources, tuple(findings))


def merge_descriptions(given: Counter[str], max_tokens: int = MAX_TOKENS) -> str:
    """Return descriptions, given with their counts, as one text. A text contained in an earlier one is left out.

    A single first sentence above the limit is cut at the end of a word.
    """
    return _joined(given, max_tokens)[0]


def _joined(given: Counter[str], max_tokens: int) -> tuple[str, bool]:
    """Return the text, and whether any description did not fit."""
    texts: list[str] = []
    left, cut = max_tokens, False
    for text, _ in sorted(given.items(), key=lambda pair: (-pair[1], pair[0])):
        if any(text.casefold() in each.casefold() for each in texts):
            continue
        taken = list(_fitting(text, left))
        if taken:
            texts.append(" ".join(taken))
            left -= sum(map(count_tokens, taken))
        cut = not taken or texts[-1] != _ended(text)
        if cut:
            break
    if not texts and given:
        texts = [_first_words(min(given, key=lambda text: (-given[text], text)), max_tokens)]
    return " ".join(texts), cut


def _most_frequent(counts: Counter[str]) -> list[str]:
    """Return the most frequent descriptions, as many as fit the prompt; a text inside an earlier one is left out."""
    shown: list[str] = []
    left = SHOWN_TOKENS
    for text, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if any(text.casefold() in each.casefold() for each in shown):
            continue
        left -= count_tokens(text)
        if left < 0 and shown:
            break
        shown.append(text)
    return shown


def sentences(text: str) -> list[str]:
    """Split the text into sentences by punctuation and white space; white space is folded."""
    return [each for each in _SENTENCE_END.split(" ".join(text.split())) if each]


@dataclass(slots=True)
class _Given:
    """The count of a description, and the chunks that give it, by name."""

    count: int = 0
    chunks: list[int] = field(default_factory=list)


def _given(view: LiveView, node: int) -> dict[str, _Given]:
    entity = view.entities[node]
    given: defaultdict[str, _Given] = defaultdict(_Given)
    for chunk in nsmallest(MAX_READ, entity.chunks, key=lambda number: view.chunks[number].chunk_id):
        for mention in view.chunks[chunk].mentions:
            if view.labels[mention.label].node == node and mention.description.strip():
                entry = given[" ".join(mention.description.split())]
                entry.count += mention.count
                if entry.chunks[-1:] != [chunk]:
                    entry.chunks.append(chunk)
    return given


def _fitting(text: str, max_tokens: int) -> Iterator[str]:
    for sentence in sentences(_ended(text)):
        max_tokens -= count_tokens(sentence)
        if max_tokens < 0:
            return
        yield sentence


def _ended(text: str) -> str:
    return text if text[-1] in _MARKS else f"{text}."


def _first_words(text: str, max_tokens: int) -> str:
    words = text.split()
    while words and count_tokens(" ".join(words)) >= max_tokens:
        words = words[: min(len(words) - 1, len(words) * 9 // 10)]
    return " ".join([*words, "\u2026"]) if words else ""
