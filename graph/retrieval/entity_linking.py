"""Entity linking: the entities that a question names, by the spellings in the graph.

A span of the question is an entity's name when, normalised, it is one of the entity's labels; no model and no vector
search is used. Invariant: the result depends on the question and the labels alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphtide.graph.resolution.normalisation import normalise
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView

LONGEST = 8
READ = 200
_PIECE = re.compile(r"\S+")
_AROUND = "?!\"'()[]{}.,;:\u00ab\u00bb\u201c\u201d\u2018\u2019"
_POSSESSIVE = re.compile("['\u2019]s?$")
_JOINING = """a an the of in on at to for by with from and or is was were are be been it its that this which who whom
whose what when where why how did do does as his her their he she they him them we you i one there any all"""
_EMPTY = frozenset(_JOINING.split())


@dataclass(frozen=True, slots=True)
class LinkedEntity:
    """An entity, the words of the question that name it, and whether they are written as a proper name."""

    node: int
    mention: str
    proper: bool


def link_entities(view: LiveView, question: str, admits: ChunkPredicate | None = None) -> tuple[LinkedEntity, ...]:
    """Return the entities a question names, in the order of the question, each once.

    The longest span of words counts, up to LONGEST, and no word is used twice; a span of function words alone names
    nothing. Of several entities of one name the most mentioned is taken. A name is `proper` when it is more than one
    word, or has a capital or a digit that is not just the first letter of the question. Only the first READ words are
    read. Cost: a look-up for each span.
    """
    words = [found.span() for found in _PIECE.finditer(question)][:READ]
    taken = [False] * len(words)
    found: list[tuple[int, LinkedEntity]] = []
    for length in range(min(LONGEST, len(words)), 0, -1):
        for first in range(len(words) - length + 1):
            if any(taken[first : first + length]):
                continue
            mention = question[words[first][0] : words[first + length - 1][1]]
            node = _meant(view, mention, admits)
            if node is not None:
                taken[first : first + length] = [True] * length
                found.append((first, LinkedEntity(node, mention.strip(_AROUND), _proper(mention, first))))
    return tuple({named.node: named for _, named in sorted(found, key=lambda pair: -pair[0])}.values())[::-1]


def _meant(view: LiveView, mention: str, admits: ChunkPredicate | None) -> int | None:
    for spelling in _spellings(mention):
        nodes = view.named(spelling)
        if admits is not None:
            nodes = {node for node in nodes if any(map(admits, view.entities[node].chunks))}
        if nodes:
            return min(nodes, key=lambda node: (-view.entities[node].mentions, view.entity_id(node)))
    return None


def _spellings(mention: str) -> Iterator[str]:
    """Yield the span unchanged, without the punctuation around it, and without a final 's."""
    bare = mention.strip(_AROUND)
    for spelling in dict.fromkeys(map(normalise, (mention, bare, _POSSESSIVE.sub("", bare)))):
        if spelling and not _EMPTY.issuperset(spelling.split()):
            yield spelling


def _proper(mention: str, first: int) -> bool:
    words = mention.split()
    content = words if first else words[1:]
    return len(words) > 1 or any(c.isupper() or c.isdigit() for word in content for c in word)
