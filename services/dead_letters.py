"""Dead letters in the application's types, read from `streams/dead_letters/queue.py`.

The invariant: the bytes of a letter are returned escaped or in base64, never raw.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from graphtide.services.api.schema.disclosure import for_caller
from graphtide.services.api.schema.envelope import NO_GRAPH
from graphtide.services.application import LetterList, LetterQuery, LetterStatus, Receipt
from graphtide.streams.dead_letters import queue as letter_desk
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import StoredDeadLetter
from graphtide.streams.follow.progress import token
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.ports import Position, Record

SHOWN_BYTES = 4096
"""Maximum bytes of the original in `text`."""

Accept = Callable[[Record], Awaitable[Position]]


async def listed(letters: DeadLetterIndex, graph: str, query: LetterQuery) -> LetterList:
    """See Application.dead_letters. Cost: the page, and the records since the last use."""
    page = await letter_desk.page(letters, _named(graph), query.after, query.limit, resolved=query.resolved)
    return LetterList(tuple(_status(letter) for letter in page.letters), page.next)


async def shown(letters: DeadLetterIndex, graph: str, letter_id: str) -> LetterStatus:
    """See Application.dead_letter."""
    return _status(await letter_desk.get_dead_letter(letters, _named(graph), letter_id), whole=True)


async def retried(
    letters: DeadLetterIndex, graph: str, letter_id: str, accept: Accept, correction: DocumentMessage | None = None
) -> Receipt:
    """See Application.retry_letter."""
    return Receipt(token([await letter_desk.retry(letters, _named(graph), letter_id, accept, correction)]), 1)


async def dropped(letters: DeadLetterIndex, graph: str, letter_id: str) -> LetterStatus:
    """See Application.discard_letter."""
    await letter_desk.discard(letters, _named(graph), letter_id)
    return await shown(letters, graph, letter_id)


def _named(graph: str) -> str:
    return "" if graph == NO_GRAPH else graph


def _status(stored: StoredDeadLetter, whole: bool = False) -> LetterStatus:
    letter = stored.letter
    return LetterStatus(
        stored.id,
        letter.graph,
        _printable(letter.doc_id),
        letter.revision,
        letter.stage,
        for_caller(letter.reason),
        letter.attempts,
        datetime.fromtimestamp(stored.written_ms / 1000, UTC).isoformat(timespec="milliseconds"),
        stored.resolution,
        stored.size_bytes,
        _printable(letter.original[:SHOWN_BYTES].decode(errors="backslashreplace")) if whole else "",
        base64.b64encode(letter.original).decode() if whole else "",
    )


def _printable(text: str) -> str:
    """Return the text with control characters and lone surrogates escaped, so that a terminal only displays it."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode("ascii") for char in text
    )
