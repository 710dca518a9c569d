"""Headings of passages in the chunk layer: a title and a one-line description of the subject (DA-RAG, section 3).

As in the paper a language model writes both, within the call that extracts the passage, so that they cost no extra
call. If no model is configured, if the document supplied its own facts, or if the model left one of them empty, it is
derived from the passage, its document's title and the entities it mentions. Invariant: a heading is a function of the
live view's content alone. It names a passage and states no fact: it enters no prompt and no digest.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from graphtide.graph.entity_descriptions import sentences
from graphtide.graph.view import LiveView
from graphtide.graph.view_state.tables import ViewChunk

TITLE_CHARS = 80
LINE_CHARS = 200
NAMED = 3


class Heading(NamedTuple):
    title: str
    description: str


def heading(view: LiveView, chunk: int) -> Heading:
    """Return the model's heading of a passage, or derive the missing parts.

    The derived title is the passage's own first line if it has the form of a title, otherwise its document's title,
    otherwise its first words. The derived description is its first sentence, with the most mentioned entities that the
    sentence does not name. Call under `view.lock.read()`. Raises KeyError for a passage that is not live. Cost: the
    passage.
    """
    row = view.chunks[chunk]
    if row.title and row.description:
        return Heading(row.title, row.description)
    read = _read_off(view, chunk, row)
    return Heading(row.title or read.title, row.description or read.description)


def _read_off(view: LiveView, chunk: int, row: ViewChunk) -> Heading:
    first, _, rest = row.text.strip().partition("\n")
    own = first.strip().lstrip("#*= ").rstrip("#*= ")
    has_own = bool(own and rest.strip()) and len(own) <= TITLE_CHARS and own[-1] not in ".!?,;:"
    body = rest if has_own else row.text
    sentence = _cut(next(iter(sentences(body)), ""), LINE_CHARS)
    title = own if has_own else view.documents[row.doc_id].info.title or sentence
    names = [name for name in _named(view, chunk) if name.casefold() not in sentence.casefold()]
    about = f" (on {', '.join(names)})" if names else ""
    return Heading(_cut(" ".join(title.split()), TITLE_CHARS), f"{sentence}{about}")


def _named(view: LiveView, chunk: int) -> list[str]:
    counts: Counter[str] = Counter()
    for mention in view.chunks[chunk].mentions:
        counts[view.entities[view.labels[mention.label].node].name] += mention.count
    return sorted(counts, key=lambda name: (-counts[name], name))[:NAMED]


def _cut(text: str, max_chars: int) -> str:
    """Return at most `max_chars` characters, cut at the end of a word."""
    if len(text) <= max_chars:
        return text
    return text[: max_chars - 1].rsplit(" ", 1)[0].rstrip(",;:") + "\u2026"
