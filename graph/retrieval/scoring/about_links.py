"""Links between passages by what they are about, read from the view's tables and its aboutness index.

A link is directed: it leads from a passage that mentions a thing to a passage that is about it. Its strength is 1 when
one passage alone is about the thing, and falls with their number, as that of a shared entity does. It falls, too, with
the passages that mention the thing beyond HUB of them: a passage about a country would continue all of these equally.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.scoring.links import HUB, entities_of, linked_passages, specificity
from graphtide.graph.view import LiveView

LONGEST = 12
READ = 200
_AROUND = "?!\"'()[]{}.,;:-"
_AFTER = "?,;:.-"
_WORDS = """a an the of in on at to for by with from and or is was were are be been it its that this which who whom
whose what when where why how did do does as his her their he she they"""
_FUNCTION_WORDS = frozenset(_WORDS.split())

Strengths = dict[int, float]
_NONE: Strengths = {}


@dataclass(slots=True)
class PassageLinks:
    """The links of passages for one question, each read once. Call under `view.lock.read()`.

    `admits` is the question's filter: no link leads to another passage.
    """

    view: LiveView
    admits: ChunkPredicate | None = None
    _shared: dict[int, Strengths] = field(default_factory=dict)
    _about: dict[int, Strengths] = field(default_factory=dict)
    _mentioned: dict[int, set[int]] = field(default_factory=dict)
    _called: dict[int, Strengths] = field(default_factory=dict)

    def shared(self, number: int) -> Strengths:
        """Return the passages that share an entity with this one, with the strength of the link."""
        if number not in self._shared:
            self._shared[number] = linked_passages(self.view, number, self.admits, self._entities(number))
        return self._shared[number]

    def about(self, number: int) -> Strengths:
        """Return the passages that are about what this one mentions, with the strength of the link to each.

        A name is any label of a mentioned entity. Cost: the labels of the passage's entities times HUB.
        """
        if number not in self._about:
            each = map(self._about_entity, self._entities(number))
            self._about[number] = self._but(number, _strongest(strengths for strengths in each if strengths))
        return self._about[number]

    def _entities(self, number: int) -> set[int]:
        if number not in self._mentioned:
            self._mentioned[number] = entities_of(self.view, number)
        return self._mentioned[number]

    def _about_entity(self, node: int) -> Strengths:
        """Return the passages that are about an entity, with the strength of a link to each."""
        found = self._called.get(node)
        if found is None:
            things = self.view.about.passages(_names(self.view, node))
            found = self._admitted(things) if things else _NONE  # few entities have any
            if found:
                share = _share(len(self.view.entities[node].chunks))
                found = {chunk: share * strength for chunk, strength in found.items()}
            self._called[node] = found
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
    words = normalise(question).split(" ")[:READ]
    says = [word not in _FUNCTION_WORDS for word in words]
    opens = [word[:1] in _AROUND for word in words]
    closes = [word[-1:] in _AROUND or word.endswith("'s") for word in words]
    names: set[str] = set()
    for first in range(len(words)):
        for end in range(first + 1, min(first + LONGEST, len(words)) + 1):
            span = " ".join(words[first:end])
            if opens[first] or closes[end - 1]:
                names.update(_spellings(span))
            elif any(says[first:end]):  # it has one spelling
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
