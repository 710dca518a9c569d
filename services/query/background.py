"""Background of a question: further passages for a generator that compares sentences, beyond those of the result.

A generator without a language model finds an answer by comparing many sentences, so it reads more passages than the
result shows: those near the question, those that state what the question names, and those linked to the best. A
question about the whole corpus has the first passages of the documents instead, also of those in the result.
Invariant: admitted passages only, in an order that depends on the graph's content alone; of more than _MAX_DOCUMENTS
documents, a question about the whole corpus reads those that arrived first. Code that follows a passage comes with it.
Cost: at most MAX_READ passages, and the numbers of those of the documents read, or the mentions of _MAX_DOCUMENTS
documents.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from graphtide.graph.retrieval.entity_linking import link_entities
from graphtide.graph.retrieval.filters import ChunkPredicate, admitted_chunks
from graphtide.graph.retrieval.question_words import is_corpus_question
from graphtide.graph.retrieval.scoring.links import linked_passages
from graphtide.graph.retrieval.seeds import Hit, nearest_passages, searched_indexes
from graphtide.graph.retrieval.types import Question, RetrievalResult
from graphtide.graph.text.place import PassageKind, path_title
from graphtide.graph.view import LiveView
from graphtide.infra.documents.line_starts import is_field
from graphtide.infra.models.local.answers.documentation import flags_of, states_definition, states_flag, thing_defined
from graphtide.infra.models.local.answers.questions.headings import asks_same
from graphtide.infra.models.local.answers.questions.plan import plan_of
from graphtide.infra.models.local.answers.words import keys_of, passage_keys

MAX_READ = 400
NEAR = 150
SMALL_GRAPH = 300
"""Passages up to which all are read."""
_ASKED = 3.0
"""Added to the score of a passage below a heading that asks the question: more than all else together."""
_OF_AN_ENTITY = 40
_LINKED_FROM = 6
_NEARNESS = 0.5
_MAX_DOCUMENTS = 2_000
_MAX_CODE = 20


def background(view: LiveView, question: Question, retrieved: RetrievalResult, count: int) -> tuple[str, ...]:
    """Return the ids of up to `count` passages, the most relevant first. Call under `view.lock.read()`."""
    shown = dict.fromkeys(passage.chunk_id for passage in retrieved.passages)
    admits = admitted_chunks(view, question.filters)
    if is_corpus_question(question.text):
        return tuple(view.chunks[number].chunk_id for number in _overview(view, admits)[:count])
    found = _relevant(view, question, retrieved, admits, count)
    ids = (view.chunks[number].chunk_id for number in found)
    further = list(islice((chunk_id for chunk_id in ids if chunk_id not in shown), count))
    read = shown | dict.fromkeys(further)
    code = (chunk_id for chunk_id in _code_after(view, read, admits) if chunk_id not in read)
    return (*further, *islice(code, _MAX_CODE))


def _code_after(view: LiveView, read: Iterable[str], admits: ChunkPredicate | None) -> Iterator[str]:
    """Yield the passages of code that follow passages in their documents, in order."""
    numbers: dict[str, dict[int, int]] = {}
    for chunk_id in read:
        chunk = view.chunks[view.chunk_numbers[chunk_id]]
        if chunk.doc_id not in numbers:
            chunks = view.documents[chunk.doc_id].chunks
            numbers[chunk.doc_id] = {view.chunks[number].ordinal: number for number in chunks if number in view.chunks}
        number = numbers[chunk.doc_id].get(chunk.ordinal + 1)
        is_code = number is not None and view.chunks[number].place.kind is PassageKind.CODE
        if number is not None and is_code and (admits is None or admits(number)):
            yield view.chunks[number].chunk_id


def _relevant(
    view: LiveView, question: Question, retrieved: RetrievalResult, admits: ChunkPredicate | None, count: int
) -> list[int]:
    """Return passages by the share of the question's words that they have, and by their similarity to it."""
    near = {hit.number: hit.cosine for hit in _nearest(view, question, admits)}
    read = [view.chunk_numbers[passage.chunk_id] for passage in retrieved.passages]
    numbers = dict.fromkeys([*read, *near, *_named(view, question.text, admits)])
    if len(view.chunks) <= SMALL_GRAPH:
        numbers |= dict.fromkeys(n for n in view.chunks if admits is None or admits(n))
    best = _ranked(view, question.text, list(islice(numbers, MAX_READ)), near)
    linked = [other for number in best[:_LINKED_FROM] for other in linked_passages(view, number, admits)]
    if set(linked) <= numbers.keys():
        return best
    more = dict.fromkeys([*best[: max(1, count // 2)], *sorted(linked, key=lambda n: view.chunks[n].chunk_id)])
    return list(more | dict.fromkeys(best))


def _nearest(view: LiveView, question: Question, admits: ChunkPredicate | None) -> tuple[Hit, ...]:
    return nearest_passages(view, question.vector, admits, NEAR, searched_indexes(view, question))


def _named(view: LiveView, question: str, admits: ChunkPredicate | None) -> Iterable[int]:
    """Yield the passages that mention the entities named in the question."""
    for entity in link_entities(view, question, admits):
        chunks = sorted(view.entities[entity.node].chunks, key=lambda n: view.chunks[n].chunk_id)
        yield from islice((n for n in chunks if admits is None or admits(n)), _OF_AN_ENTITY)


def _ranked(view: LiveView, question: str, numbers: list[int], near: dict[int, float]) -> list[int]:
    plan = plan_of(question)
    terms, thing, flags = plan.terms, thing_defined(plan), flags_of(question)
    keys_of = {number: _keys(view, number) for number in numbers}
    counts = Counter(term.key for keys in keys_of.values() for term in terms if _has(term.key, term.synonyms, keys))
    weights = {term.key: math.log(1 + len(keys_of) / (counts[term.key] + 0.5)) for term in terms}
    total = sum(weights.values()) or 1.0
    low, high = min(near.values(), default=0.0), max(near.values(), default=1.0)

    def score(number: int) -> float:
        words = sum(weights[term.key] for term in terms if _has(term.key, term.synonyms, keys_of[number]))
        similar = (near[number] - low) / (high - low or 1.0) if number in near else 0.0
        text = view.chunks[number].text
        is_definition = (bool(thing) and states_definition(text, thing)) or states_flag(text, flags)
        headings = view.chunks[number].place.headings
        is_asked = bool(headings) and asks_same(headings[-1], plan)
        return words / total + _NEARNESS * similar + is_definition + _ASKED * is_asked

    return sorted(numbers, key=lambda number: (-score(number), view.chunks[number].chunk_id))


def _has(key: str, synonyms: frozenset[str], keys: frozenset[str]) -> bool:
    return key in keys or not synonyms.isdisjoint(keys)


def _keys(view: LiveView, number: int) -> frozenset[str]:
    chunk = view.chunks[number]
    return _text_keys(path_title(view.documents[chunk.doc_id].info.title, chunk.place), chunk.text)


@lru_cache(maxsize=2_000)
def _text_keys(heading: str, text: str) -> frozenset[str]:
    return keys_of(heading) | passage_keys(text.replace("_", " "))


def _overview(view: LiveView, admits: ChunkPredicate | None) -> list[int]:
    """Return the first passage of prose of each document, the documents with most mentions first; not one that is
    nothing but lines such as "Present: Ada, Bob", if there is another one.
    """
    found = []
    for doc_id in islice(view.documents, _MAX_DOCUMENTS):
        chunks = [n for n in view.documents[doc_id].chunks if n in view.chunks and (admits is None or admits(n))]
        if chunks:
            prose = [n for n in chunks if view.chunks[n].place.kind is PassageKind.TEXT][:_MAX_BEGINNINGS]
            first = next((n for n in prose if not _is_head(view.chunks[n].text)), (prose or chunks)[0])
            mentions = sum(len(view.chunks[n].mentions) for n in chunks)
            found.append((-mentions, doc_id, first))
    return [number for _, _, number in sorted(found)]


def _is_head(text: str) -> bool:
    """Return whether a text is nothing but short lines with labels, as at the head of minutes."""
    lines = [line for line in text.splitlines() if line.strip()]
    return all(is_field(line) and len(line.split()) <= _FIELD_WORDS for line in lines)


_MAX_BEGINNINGS, _FIELD_WORDS = 4, 12
