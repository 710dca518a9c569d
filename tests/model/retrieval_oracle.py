"""Retrieval by its definition: every step by loops over all of them.

No index, no push, no array trick: cosines one by one, PageRank by iteration on the whole graph until convergence, pairs
by their sums. `slow_vector`, `slow_local` and `slow_passages` have the signature of the modes they check, so that one
suite compares them. They share with the project the view, the request types and the parameters.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from statistics import fmean

import numpy as np

from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import LocalSettings
from graphtide.graph.retrieval.scoring.about_links import LONGEST
from graphtide.graph.retrieval.scoring.links import HUB
from graphtide.graph.retrieval.scoring.pair_scoring import DECADES, MIN_SPAN, WALK_SHARE, UnaryWeights, Weighting
from graphtide.graph.retrieval.seeds import ENTITY_SHARE, PASSAGE_SHARE, PASSAGES, statement_key
from graphtide.graph.retrieval.types import Question, RetrievalResult, RetrievedPassage, Subgraph
from graphtide.graph.vector_index import VectorIndex
from graphtide.graph.view import LiveView


def slow_vector(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `vector`, one cosine at a time."""
    ranked = _ranked({n: _cosine(view.indexes.chunks, n, question) for n in view.chunks}, _chunk_name(view))
    return _retrieved(view, [(cosine, n) for n, cosine in ranked[: question.top_k]], "vector")


def slow_passages(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `passages` by its definition."""
    ranked, share = _pair_ranking(view, question)
    return _retrieved(view, list(zip(share, ranked, strict=True))[: question.top_k], "passages")


def slow_local(view: LiveView, question: Question) -> RetrievalResult:
    """Run mode `local` by its definition: the same ranking, with near duplicates of better passages last."""
    ranked, share = _pair_ranking(view, question)
    settings = settings_from(LocalSettings, question.options)
    kept, repeated = list[int](), list[int]()
    for n in ranked:
        alike = any(_dot(view.indexes.chunks, n, other) > settings.repetition for other in kept)
        (repeated if alike and len(kept) < question.top_k else kept).append(n)
    return _retrieved(view, list(zip(share, kept + repeated, strict=True))[: question.top_k], "local")


def exact_pagerank(view: LiveView, restart: dict[int, float], probability: float) -> dict[int, float]:
    """Return the stationary mass of the walk that restarts with `probability`, by iteration over the walk graph."""
    weight: dict[int, dict[int, float]] = defaultdict(dict)
    for node, entity in view.entities.items():
        for chunk in entity.chunks:
            weight[2 * node][2 * chunk + 1] = weight[2 * chunk + 1][2 * node] = float(entity.times(chunk))
        for other, edge in view.neighbours.get(node, {}).items():
            weight[2 * node][2 * other] = float(edge.weight)
    mass = dict(restart)
    for _ in range(200):
        following = {node: probability * share for node, share in restart.items()}
        for node, share in mass.items():
            total = sum(weight[node].values())
            for other, w in weight[node].items():
                following[other] = following.get(other, 0.0) + (1 - probability) * share * w / total
        mass = following
    return mass


def slow_restart(view: LiveView, question: Question) -> dict[int, float]:
    """Return the restart distribution: three families of seeds with their shares."""
    settings, indexes = settings_from(LocalSettings, question.options), view.indexes
    named = _statement_name(view)
    statements = _nearest(indexes.statements, view.statements, question, named, settings.statements)
    entities = _nearest(indexes.entities, view.entities, question, view.entity_id, settings.entities)
    depth = max(settings.near, question.top_k)
    passages = _nearest(indexes.chunks, view.chunks, question, _chunk_name(view), depth)
    floor = passages[-1][1] if len(passages) > PASSAGES else 0.0
    families: list[tuple[float, Counter[int]]] = [
        (1 - ENTITY_SHARE - PASSAGE_SHARE, Counter()),
        (ENTITY_SHARE, Counter()),
        (PASSAGE_SHARE, Counter()),
    ]
    for number, cosine in statements:
        for end in (view.statements[number].subject, view.statements[number].object):
            families[0][1][2 * end] += max(cosine, 0) / len(view.entities[end].chunks)  # type: ignore[assignment]
    for node, cosine in entities:
        families[1][1][2 * node] += max(cosine, 0) / len(view.entities[node].chunks)  # type: ignore[assignment]
    for number, cosine in passages[:PASSAGES]:
        families[2][1][2 * number + 1] += max(cosine - floor, 0)  # type: ignore[assignment]
    used = [(share, mass) for share, mass in families if sum(mass.values()) > 0]
    whole = sum(share for share, _ in used)
    return {
        node: sum(share / whole * mass[node] / sum(mass.values()) for share, mass in used)
        for node in {node for _, mass in used for node in mass if mass[node] > 0}
    }


def _pair_ranking(view: LiveView, question: Question) -> tuple[list[int], list[float]]:
    """Return the candidates, best first, and the score of each place of the ranking."""
    pairs = _PairOracle(view, question)
    if not pairs.found:
        return [], []
    weighting, names = pairs.weighting, _chunk_name(view)
    opening = {n: pairs.unary(n, weighting.first, words=True) for n in pairs.found}
    firsts = pairs.firsts = [n for n, _ in _ranked(opening, names)][: weighting.firsts]
    drawn = _shares(opening, weighting.temperature)
    part = dict(drawn)
    for first in firsts:
        rest = {n: pairs.following(n, [first]) for n in pairs.found if n != first}
        for n, share in _shares(rest, weighting.temperature).items():
            part[n] += drawn[first] * share
    included = {n: weighting.temperature * math.log(max(part[n], 1e-300)) + 1e-6 * opening[n] for n in pairs.found}
    by_pairs = [n for n, _ in _ranked(included, names)]
    chosen, continued = by_pairs[: min(2, weighting.greedy)], list[list[int]]()
    for size in range(len(chosen), min(weighting.greedy, len(by_pairs)) + 1 if chosen else 0):
        left = [n for n, _ in _ranked({n: pairs.following(n, chosen) for n in pairs.found if n not in chosen}, names)]
        if size in (2, min(weighting.greedy, len(by_pairs))):
            continued.insert(0, chosen + left)
        if size < min(weighting.greedy, len(by_pairs)):
            chosen.append(left[0])
    rankings = [chosen, *continued, by_pairs]
    rank = {n: min((ranking.index(n), last) for last, ranking in enumerate(rankings) if n in ranking) for n in by_pairs}
    low, high = min(included.values()), max(included.values())
    scaled = [(value - low) / (high - low) if high > low else 1.0 for value in included.values()]
    return sorted(pairs.found, key=lambda n: rank[n]), sorted(scaled, reverse=True)


class _PairOracle:
    """The candidates of a question, and the score of each as an opening or a continuation, term by term."""

    def __init__(self, view: LiveView, question: Question) -> None:
        self.view, name = view, _chunk_name(view)
        self._titles = {n: normalise(view.documents[chunk.doc_id].info.title) for n, chunk in view.chunks.items()}
        self._bridges = cache(lambda n: _bridges(view, n))
        self._leads = cache(self._leads_to)
        settings = settings_from(LocalSettings, question.options)
        self.weighting = Weighting(firsts=settings.firsts, greedy=settings.coverage)
        self._more = settings.injected
        self.firsts: list[int] = []
        self._cosine = {n: _cosine(view.indexes.chunks, n, question) for n in view.chunks}
        near = _ranked(self._cosine, name)[: max(settings.near, question.top_k)]
        self.found: set[int] = {n for n, _ in near}
        if not near:
            return
        mass = exact_pagerank(view, slow_restart(view, question), settings.restart)
        self._reached = {n: mass.get(2 * n + 1, 0.0) for n in view.chunks}
        self._best, self._last = max(self._reached.values()), near[-1][1]
        self._span = max(near[0][1] - near[-1][1], MIN_SPAN)
        far = {n: m for n, m in self._reached.items() if m > self._best / 10**DECADES}
        walked = max(settings.walked, question.top_k) if settings.walked else 0
        self.found |= {n for n, _ in _ranked(far, name)[:walked]}
        self._named = dict(_ranked(self._about(_spans(question.text)), name)[: settings.named])
        self.found |= self._named.keys()
        worth = {n: self._near(n) + WALK_SHARE * self._reach(n) + self._named.get(n, 0.0) for n in self.found}
        expanded = [n for n, _ in _ranked(worth, name)[: self.weighting.firsts]]
        self.found |= self._injected(expanded, self._leads) | self._injected(expanded, self._leads_from)
        titles = {n: view.documents[view.chunks[n].doc_id].info.title for n in self.found}
        self._has = {n: set(_words(f"{titles[n]}\n{view.chunks[n].text}")) for n in self.found}
        self._weight = _word_weights(question, self._has)

    def unary(self, n: int, weights: UnaryWeights, *, words: bool) -> float:
        own = weights.nearness * self._near(n) + weights.walk * self._reach(n) + weights.named * self._named.get(n, 0)
        return own + words * weights.words * sum(w for word, w in self._weight.items() if word in self._has[n])

    def following(self, n: int, chosen: list[int]) -> float:
        covered = set().union(*(self._has[other] for other in chosen))
        return (
            self.unary(n, self.weighting.second, words=False)
            + self._linked(n, chosen, max)
            - self._linked(n, self.firsts, fmean)
            + self.weighting.coverage
            * sum(w for word, w in self._weight.items() if word in self._has[n] and word not in covered)
        )

    def _linked(self, n: int, others: list[int], together: Callable[[list[float]], float]) -> float:
        bridges = together([self._bridges(other).get(n, 0.0) for other in others])
        about = together([self._leads(other).get(n, 0.0) for other in others]) * (n not in self._named)
        return self.weighting.bridge * bridges + self.weighting.about * about

    def _near(self, n: int) -> float:
        return (self._cosine[n] - self._last) / self._span

    def _reach(self, n: int) -> float:
        mass = self._reached[n]
        return max(0.0, 1 + math.log10(mass / self._best) / DECADES) if mass > 0 else 0.0

    def _injected(self, expanded: list[int], links: Callable[[int], dict[int, float]]) -> set[int]:
        more: list[int] = []
        for n in expanded:
            new = {other: s for other, s in links(n).items() if other not in self.found and other not in more}
            more += [other for other, _ in _ranked(new, _chunk_name(self.view))]
        return set(more[: self._more])

    def _about(self, names: set[str]) -> dict[int, float]:
        """Return the passages whose document has one of the names as its title, by how few have the same."""
        having = Counter(self._titles.values())
        return {n: s for n, title in self._titles.items() if title in names and (s := _rarity(having[title]))}

    def _leads_to(self, first: int) -> dict[int, float]:
        strengths: dict[int, float] = {}
        for entity in self.view.entities.values():
            if first in entity.chunks:
                share = 1 / (1 + math.log(max(len(entity.chunks) / HUB, 1)))
                for n, strength in self._about({entity.name}).items():
                    strengths[n] = max(strengths.get(n, 0.0), share * strength)
        return {n: strength for n, strength in strengths.items() if n != first}

    def _leads_from(self, first: int) -> dict[int, float]:
        mentioned = [entity for entity in self.view.entities.values() if entity.name == self._titles[first]]
        return {n: s for e in mentioned for n in e.chunks if n != first and (s := _rarity(len(e.chunks)))}


def _rarity(passages: int) -> float:
    return 1 / (1 + math.log(passages)) if passages <= HUB else 0.0


def _shares(scores: dict[int, float], temperature: float) -> dict[int, float]:
    best = max(scores.values(), default=0.0)
    weights = {n: math.exp((score - best) / temperature) for n, score in scores.items()}
    return {n: weight / sum(weights.values()) for n, weight in weights.items()}


def _spans(question: str) -> set[str]:
    words = question.split()
    return {" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + LONGEST, len(words)) + 1)}


def _bridges(view: LiveView, first: int) -> dict[int, float]:
    strengths: dict[int, float] = {}
    for entity in view.entities.values():
        if first in entity.chunks and 2 <= len(entity.chunks) <= HUB:
            for other in set(entity.chunks) - {first}:
                strengths[other] = max(strengths.get(other, 0.0), 1 / (1 + math.log(len(entity.chunks))))
    return strengths


def _word_weights(question: Question, has: dict[int, set[str]]) -> dict[str, float]:
    squares = {}
    for word in sorted(set(_words(question.text))):
        having = sum(word in words for words in has.values())
        if having:
            squares[word] = math.log(1 + (len(has) - having + 0.5) / (having + 0.5)) ** 2
    return {word: square / sum(squares.values()) for word, square in squares.items()}


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _nearest(
    index: VectorIndex,
    numbers: Iterable[int],
    question: Question,
    name: Callable[[int], str],
    k: int,
) -> list[tuple[int, float]]:
    return _ranked({n: _cosine(index, n, question) for n in numbers}, name)[:k]


def _ranked(values: dict[int, float], name: Callable[[int], str]) -> list[tuple[int, float]]:
    return sorted(values.items(), key=lambda item: (-item[1], name(item[0])))


def _cosine(index: VectorIndex, number: int, question: Question) -> float:
    stored = [float(x) for x in index.vectors(np.array([number]))[0]]
    asked = [float(x) for x in question.vector]
    return sum(a * b for a, b in zip(stored, asked, strict=True)) / math.sqrt(sum(a * a for a in asked))


def _dot(index: VectorIndex, a: int, b: int) -> float:
    first, second = index.vectors(np.array([a, b]))
    return float(sum(float(x) * float(y) for x, y in zip(first, second, strict=True)))


def _chunk_name(view: LiveView) -> Callable[[int], str]:
    return lambda n: view.chunks[n].chunk_id


def _statement_name(view: LiveView) -> Callable[[int], str]:
    return lambda n: statement_key(view, n)


def _retrieved(view: LiveView, ranked: list[tuple[float, int]], mode: str) -> RetrievalResult:
    passages = tuple(
        RetrievedPassage(view.chunks[n].chunk_id, view.chunks[n].doc_id, score, view.chunks[n].text)
        for score, n in ranked
    )
    return RetrievalResult(passages, Subgraph(), view.version, mode)
