"""Links between passages by what they are about, read from the view's tables and its aboutness index.

A link is directed: it leads from a passage that mentions a thing to a passage that is about it. Its strength is 1 when
one passage alone is about the thing, and falls with their number, as that of a shared entity does. It falls, too, with
the passages that mention the thing beyond HUB of them: a passage about a country would continue all of these equally.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from graphtide.graph.algorithms.pagerank import Scores
from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.scoring.links import HUB, SPECIFICITY, entities_of, specificity
from graphtide.graph.view import LiveView, walk_chunk, walk_chunks

LONGEST = 12
READ = 200
_AROUND = "?!\"'()[]{}.,;:-"
_AFTER = "?,;:.-"
_WORDS = """a an the of in on at to for by with from and or is was were are be been it its that this which who whom
whose what when where why how did do does as his her their he she they"""
_FUNCTION_WORDS = frozenset(_WORDS.split())

Strengths = dict[int, float]
_SHARED = np.array([0.0, *SPECIFICITY[2:]])
"""The strength of an entity by its passages, from one on: one of a single passage leads nowhere."""


@dataclass(slots=True)
class PassageLinks:
    """The links of passages for one question, each read once. Call under `view.lock.read()`.

    `admits` is the question's filter: no link leads to another passage.
    """

    view: LiveView
    admits: ChunkPredicate | None = None
    _about: dict[int, Strengths] = field(default_factory=dict)
    _called: dict[int, Strengths] = field(default_factory=dict)

    def shared(self, numbers: Sequence[int], others: Sequence[int]) -> Scores:
        """Return the strength of each passage's link to each of `others` by an entity that they share, (m, n).

        As `linked_passages`, where all of `others` are admitted. Cost: the entities of the passages times HUB.
        """
        return self.view.walk.shared(walk_chunks(numbers), walk_chunks(others), _SHARED)

    def about(self, number: int) -> Strengths:
        """Return the passages that are about what this one mentions, with the strength of the link to each.

        A name is any label of a mentioned entity. Cost: the labels of the passage's entities times HUB.
        """
        found = self._about.get(number)
        if found is None:
            called = self.view.about.called
            nodes = [node for node in self._entities(number) if node in called]
            found = self._about[number] = self._but(number, _strongest(map(self._about_entity, nodes)))
        return found

    def _entities(self, number: int) -> list[int]:
        nodes: list[int] = (self.view.walk.neighbours(walk_chunk(number)) // 2).tolist()
        return nodes

    def _about_entity(self, node: int) -> Strengths:
        """Return the passages that are about an entity, with the strength of a link to each."""
        found = self._called.get(node)
        if found is None:
            share = _share(len(self.view.entities[node].chunks))
            admitted = self._admitted(self.view.about.passages(_names(self.view, node)))
            found = self._called[node] = {chunk: share * strength for chunk, strength in admitted.items()}
        return found

    def mentioning(self, number: int) -> Strengths:
        """Return the passages that mention what this one is about: the links' other end.

        Cost: the keys of the passage times HUB.
        """
        nodes = {node for key in self.view.about.keys(number) for node in self.view.named(key)}
        return self._but(number, self._admitted(self.view.entities[node].chunks for node in nodes))

    def named(self, names: Iterable[str]) -> Strengths:
        """Return the passages that are about one of the names, with the strength of the most specific one."""
        return self._admitted(self.view.about.passages(names))

    def _admitted(self, things: Iterable[Collection[int]]) -> Strengths:
        """Return the admitted ones of the passages of some things, with the strength of the most specific thing."""
        found: Strengths = {}
        for passages in things:
            if strength := specificity(len(passages)):
                for chunk in passages:
                    if found.get(chunk, 0.0) < strength:
                        found[chunk] = strength
        return found if self.admits is None else {n: strength for n, strength in found.items() if self.admits(n)}

    @staticmethod
    def _but(number: int, found: Strengths) -> Strengths:
        found.pop(number, None)
        return found


def asked_names(question: str) -> frozenset[str]:
    """Return every span of a question that may be a name, normalised: at most LONGEST of its first READ words each.

    A span is read without the punctuation of the sentence, without any around it, and without a final 's. One of
    function words alone names nothing.
    """
    text = normalise(question)
    words = text.split(" ")[:READ]
    ends = list(accumulate(len(word) + 1 for word in words))
    function = [word in _FUNCTION_WORDS for word in words]
    opens = [word[:1] in _AROUND for word in words]
    closes = [word[-1:] in _AROUND or word.endswith("'s") for word in words]
    names: set[str] = set()
    for first, word in enumerate(words):
        start, says_nothing = ends[first] - len(word) - 1, True
        for last in range(first, min(first + LONGEST, len(words))):
            says_nothing &= function[last]
            span = text[start : ends[last] - 1]
            if opens[first] or closes[last]:
                names.update(_spellings(span))
            elif not says_nothing:  # it has one spelling
                names.add(span)
    return frozenset(names)


def mentioned_names(view: LiveView, number: int) -> set[str]:
    """Return the names of all labels of the entities that a passage mentions."""
    return {name for node in entities_of(view, number) for name in _names(view, node)}


def strongest(view: LiveView, links: Mapping[int, float], count: int) -> list[int]:
    """Return the `count` passages with the strongest links, equal ones by chunk id."""
    return sorted(links, key=lambda number: (-links[number], view.chunks[number].chunk_id))[:count]


def _strongest(each: Iterable[Strengths]) -> Strengths:
    found: Strengths = {}
    for strengths in each:
        for chunk, strength in strengths.items():
            if found.get(chunk, 0.0) < strength:
                found[chunk] = strength
    return found


def _spellings(span: str) -> Iterator[str]:
    bare = span.strip(_AROUND)
    for name in (span.rstrip(_AFTER), bare, bare.removesuffix("'s")):
        if name and not _FUNCTION_WORDS.issuperset(name.split(" ")):
            yield name


def _names(view: LiveView, node: int) -> list[str]:
    labels = view.labels
    return [labels[label].name for label in view.entities[node].labels]


def _share(mentioning: int) -> float:
    """Return the share of a link's strength that is left when so many passages mention the thing: 1 up to HUB."""
    return 1 / (1 + math.log(max(1.0, mentioning / HUB)))
