"""Pages of the list of graphs, by name, of those that a caller may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.services.browsing import GraphSummary
from graphtide.services.inspection.cursors import decode_cursor, encode_cursor

_LISTING = ("graphs",)


@dataclass(frozen=True, slots=True)
class GraphPage:
    graphs: tuple[GraphSummary, ...]
    next: str


def graphs_page(visible: Sequence[GraphSummary], limit: int, cursor: str) -> GraphPage:
    """Return a page of the graphs, which are sorted by name. Raises Invalid."""
    after = str(decode_cursor(_LISTING, (str,), cursor)[0]) if cursor else ""
    found = [each for each in visible if each.graph > after][: limit + 1]
    following = encode_cursor(_LISTING, (found[limit - 1].graph,)) if len(found) > limit else ""
    return GraphPage(tuple(found[:limit]), following)
