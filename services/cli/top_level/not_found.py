"""The remedy for a graph or a document that does not exist: the graphs of the service with similar names, and the
documents that were read from a file that is named instead of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

from graphtide.services.cli.exit_codes import CommandError

if TYPE_CHECKING:
    from graphtide.services.cli.client import Client

MAX_NAMED = 5
MAX_SEARCHED = 20_000
"""Documents of a graph among which those of a file are searched."""


def remedy_for(client: Client, graph: str, doc_id: str) -> str:
    """Return the remedy, "" without one. Cost: a request for each 1,000 documents, at most MAX_SEARCHED of them, where
    a document is asked for in a graph that exists.
    """
    try:
        graphs = [each["graph"] for each in client.get("/v1/graphs")["graphs"]]
        if graph not in graphs:
            return _of_graphs(graph, graphs)
        return _of_documents(client, graph, doc_id) if doc_id else ""
    except CommandError:  # the first error is the one to show
        return ""


def _of_graphs(graph: str, graphs: Sequence[str]) -> str:
    by_lower = {each.casefold(): each for each in graphs}
    close = [by_lower[each] for each in get_close_matches(graph.casefold(), by_lower, n=MAX_NAMED)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"the service has the graphs {_named(graphs)}" if graphs else ""


def _of_documents(client: Client, graph: str, name: str) -> str:
    from graphtide.services.cli.client import listed_documents

    listed = islice(listed_documents(client, graph), MAX_SEARCHED)
    found = [each["id"] for each in listed if _is_of(each["id"], each["source"], name)]
    return f"{name} became {len(found):,} documents: {_named(found)}; name one of them" if found else ""


def _is_of(doc_id: str, source: str, name: str) -> bool:
    return doc_id.startswith(f"{name}#") or source == name or source.endswith(f"/{name}")


def _named(names: Sequence[str]) -> str:
    more = [f"and {len(names) - MAX_NAMED:,} more"] if len(names) > MAX_NAMED else []
    return ", ".join([*map(repr, names[:MAX_NAMED]), *more])
