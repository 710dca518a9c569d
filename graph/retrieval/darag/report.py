"""Text of a community from its structure alone: its members, and the statements among them.

Every line is stated by a passage and names it; nothing is summarised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from graphtide.graph.retrieval.darag.adaptive import Community, CommunityReportText
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.statements import between, listed, supporting_passages, verbalise
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView

LINES = 40
NAMED = 5

Near = Callable[[int], float]


def report(
    view: LiveView, community: Community, near: Near, admits: ChunkPredicate | None, budget: int
) -> CommunityReportText:
    """Return a report of at most `budget` tokens and LINES relations, those between the most relevant members first.

    `near` is an entity's cosine to the question. Cost: the statements of the members, for LINES relations.
    """
    members = sorted(community.members, key=lambda node: (-near(node), view.entity_id(node)))
    shown = listed([view.entities[node].name for node in members[:NAMED]])
    rest = len(members) - NAMED
    title = f"{shown} and {rest} more" if rest > 0 else shown
    lines = [_line(view, node) for node in members]
    stated: list[tuple[str, str]] = []
    text = _fitted(title, lines, budget)
    for line, chunk_id in _relations(view, members, admits):
        longer = f"{text}\n{line} [{chunk_id}]"
        if count_tokens(title) + count_tokens(longer) > budget:
            break
        text = longer
        stated.append((line, chunk_id))
    sources = tuple(dict.fromkeys(chunk_id for _, chunk_id in stated))
    tokens = count_tokens(title) + count_tokens(text)
    return CommunityReportText(community, title, text, sources, tokens, tuple(stated))


def _line(view: LiveView, node: int) -> str:
    entity = view.entities[node]
    return f"{entity.name} ({entity.type})" if entity.type else entity.name


def _fitted(title: str, names: Sequence[str], budget: int) -> str:
    """Return the members' names in one line, as many as the budget holds."""
    left = budget - count_tokens(title)
    kept: list[str] = []
    for name in names:
        left -= count_tokens(name) + 1
        if left < 0:
            break
        kept.append(name)
    return "; ".join(kept)


def _relations(view: LiveView, members: Sequence[int], admits: ChunkPredicate | None) -> Iterator[tuple[str, str]]:
    """Yield the statements among the members, with a passage each, those of the first members first."""
    count = 0
    for one, other in combinations(members, 2):
        if count == LINES:
            return
        if other in view.neighbours.get(one, ()):
            for number in between(view, one, other, admits)[:1]:
                chunk_id = view.chunks[supporting_passages(view, number, admits)[0]].chunk_id
                count += 1
                yield verbalise(view, number), chunk_id
