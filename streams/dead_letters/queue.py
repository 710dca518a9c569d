"""The dead-letter queue as operators use it: list letters, publish one again, or discard one.

The topic `documents.dlq` is append-only: a resolved letter is followed by a settlement record in the same partition.
Invariant: a resolved letter is never retried or discarded again. A failure between publishing and resolving publishes
the document twice at worst; the second is a newer revision with the same content.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial

from graphtide.streams.consolidate.batches import STAGE as CONSOLIDATE
from graphtide.streams.dead_letters.erasure import parse_letter_mark
from graphtide.streams.dead_letters.index import DeadLetterIndex, LetterKey, parse_settlement
from graphtide.streams.errors import Invalid, NotFound, Rejected
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import (
    DEAD_LETTERS,
    SCHEMA,
    DeadLetter,
    DocumentMessage,
    decode_dead_letter,
    decode_document,
    decode_extraction,
    document_key,
    split_document_key,
)
from graphtide.streams.ports import Log, Position, Record
from graphtide.streams.sources.types import STAGE as SOURCES

MAX_PAGE = 500
RETRIED, DROPPED = "retried", "dropped"
LETTER_ID = "([0-9]{1,9})-([0-9]{1,18})"
"""The form of a dead letter's id: its partition and its offset."""
_ID = re.compile(LETTER_ID)
PAGE_POSITION = r"([0-9]{1,18})-([0-9]{1,9})-([0-9]{1,18})"
"""The form of the position of a page."""
_AFTER = re.compile(PAGE_POSITION)

Publish = Callable[[Record], Awaitable[Position]]


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter in the topic. `resolution` says how it was resolved, "" while it is open."""

    id: str
    letter: DeadLetter
    written_ms: int
    resolution: str = ""
    size_bytes: int = 0
    """The size of the original."""


@dataclass(frozen=True, slots=True)
class LetterPage:
    """A page of letters, without their originals. `next` is the `after` of the next page, "" on the last."""

    letters: tuple[StoredDeadLetter, ...]
    next: str


async def list_dead_letters(log: Log, graph: str, *, resolved: bool = False) -> Sequence[StoredDeadLetter]:
    """Return the open dead letters of a graph, oldest first, without their originals; `resolved` adds resolved ones.

    Records whose key names no graph are in graph "". Cost: time, the whole topic; memory, the result.
    """
    letters, found, after = DeadLetterIndex(log), list[StoredDeadLetter](), ""
    while True:
        part = await page(letters, graph, after, MAX_PAGE, resolved=resolved)
        found += part.letters
        if not part.next:
            return found
        after = part.next


async def count_dead_letters(log: Log) -> Mapping[str, int]:
    """Return the number of open dead letters by graph. Cost: time, the whole topic."""
    letters = DeadLetterIndex(log)
    await letters.refresh()
    return letters.counts()


@dataclass(frozen=True, slots=True)
class LetterPlace:
    """Position of a letter, the document that it is about, if it was resolved, and if its graph was deleted since."""

    position: Position
    graph: str
    doc_id: str
    resolved: bool = False
    erased: bool = False


async def letter_places(log: Log) -> Sequence[LetterPlace]:
    """Return the places of all letters, in the order of each partition. Cost: time, the whole topic."""
    found: dict[str, LetterPlace] = {}
    resolved: set[str] = set()
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for delivered in records:
            value, place = delivered.record.value or b"", delivered.position
            if (settlement := parse_settlement(value)) is not None:
                resolved.add(f"{settlement[0].partition}-{settlement[0].offset}")
            elif (mark := parse_letter_mark(value)) is not None:
                for name, letter_place in found.items():
                    if letter_place.graph == mark[0] and _is_before(name, mark[1]):
                        found[name] = replace(letter_place, erased=True)
            elif (letter := _letter(value)) is not None:
                found[f"{place.partition}-{place.offset}"] = LetterPlace(place, letter.graph, letter.doc_id)
    return [replace(letter, resolved=name in resolved) for name, letter in found.items()]


async def page(
    letters: DeadLetterIndex, graph: str, after: str = "", limit: int = 50, *, resolved: bool = False
) -> LetterPage:
    """Return at most `limit` letters after `after`, the `next` of another page. Raises Invalid.

    Oldest first; `resolved` adds resolved ones. Cost: the page, and the records since the last use of the index.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid("limit", f"is {limit}; use 1 to {MAX_PAGE}")
    place = (-1, -1, -1)
    if after:
        if (parts := _AFTER.fullmatch(after)) is None:
            raise Invalid("after", f"{after[:40]!r} is not a page position; pass the next of the previous page")
        place = (int(parts[1]), int(parts[2]), int(parts[3]))
    await letters.refresh()
    while True:
        keys = letters.keys(graph, place, limit + 1, resolved=resolved)
        found = await letters.read(keys[:limit], partial(_brief, letters))
        if len(found) == len(keys[:limit]):
            break  # otherwise some were erased meanwhile, and the index has dropped them
    shown = tuple(found[key] for key in keys[:limit])
    return LetterPage(shown, "-".join(map(str, keys[limit - 1])) if len(keys) > limit else "")


def _brief(letters: DeadLetterIndex, key: LetterKey, letter: DeadLetter) -> StoredDeadLetter:
    """Return a letter without its original."""
    stored = _stored(letters, key, letter)
    return replace(stored, letter=replace(letter, original=b""))


def _stored(letters: DeadLetterIndex, key: LetterKey, letter: DeadLetter) -> StoredDeadLetter:
    return StoredDeadLetter(f"{key[1]}-{key[2]}", letter, key[0], letters.resolution(key), len(letter.original))


async def get_dead_letter(letters: DeadLetterIndex, graph: str, name: str) -> StoredDeadLetter:
    """Return one dead letter with its original, resolved or not. Raises Invalid for a malformed id, NotFound.

    Cost: the letter, and the records since the last use of the index.
    """
    if (parts := _ID.fullmatch(name)) is None:
        raise Invalid("id", f"{name[:40]!r} is not the id of a dead letter; an id looks like 0-12")
    await letters.refresh()
    key = letters.key(graph, Position(int(parts[1]), int(parts[2])))
    found = await letters.read([key], partial(_stored, letters)) if key else {}
    if key is None or key not in found:
        raise NotFound(f"graph {graph!r} has no dead letter {name}")
    return found[key]


async def retry(
    letters: DeadLetterIndex, graph: str, name: str, publish: Publish, correction: DocumentMessage | None = None
) -> Position:
    """Publish the original again, or a correction, and resolve the letter. Returns the position of the new revision.

    Raises Invalid when there is nothing to publish, when the original is malformed, when the correction is of another
    document, or when the letter is already resolved; NotFound.
    """
    stored = await _open(letters, graph, name)
    position = await publish(original(stored.letter) if correction is None else _corrected(stored.letter, correction))
    await _resolve(letters.log, stored, RETRIED)
    return position


async def discard(letters: DeadLetterIndex, graph: str, name: str) -> None:
    """Resolve the letter without publishing it. Raises Invalid when it is already resolved; NotFound."""
    await _resolve(letters.log, await _open(letters, graph, name), DROPPED)


def original(letter: DeadLetter) -> Record:
    """Return the record of `documents` that the letter is about. Raises Invalid when it cannot be restored."""
    key = document_key(letter.graph, letter.doc_id)
    try:
        split_document_key(key)
        if letter.stage == SOURCES:
            raise Invalid(
                "id",
                "the record of a source cannot be published again: correct its cause, then change the row or send the"
                " event again, and discard the dead letter",
            )
        if letter.stage != CONSOLIDATE:
            if not letter.original:
                raise Invalid("id", "the dead letter contains no document: publish or delete the document directly")
            decode_document(key, letter.original)
            return Record(key, letter.original)
        extraction = decode_extraction(letter.original).extraction
    except Rejected as error:
        raise Invalid("id", f"the document cannot be published again unchanged: {error}; send a correction") from error
    if extraction is None:
        return Record(key, None)
    fields = (letter.graph, letter.doc_id, extraction.text, extraction.info)
    return Record(key, DocumentMessage(*fields, media_type=extraction.media_type).encode())


def _corrected(letter: DeadLetter, correction: DocumentMessage) -> Record:
    if correction.key != document_key(letter.graph, letter.doc_id):
        raise Invalid("id", "the correction is of another document: publish that one, and discard the dead letter")
    return Record(correction.key, correction.encode())


async def _open(letters: DeadLetterIndex, graph: str, name: str) -> StoredDeadLetter:
    stored = await get_dead_letter(letters, graph, name)
    if stored.resolution:
        raise Invalid("id", f"the dead letter {name} is already resolved: it was {stored.resolution}")
    return stored


async def _resolve(log: Log, stored: StoredDeadLetter, how: str) -> None:
    body = {"schema": SCHEMA, "settles": stored.id, "how": how}
    key = document_key(stored.letter.graph, stored.letter.doc_id)
    await log.append(DEAD_LETTERS, [Record(key, json.dumps(body).encode())])


def _letter(value: bytes) -> DeadLetter | None:
    try:
        return decode_dead_letter(value)
    except Rejected:  # not written by Graphtide
        return None


def _is_before(name: str, end: Position) -> bool:
    """Return True if the letter of that id is before `end` in the same partition."""
    partition, _, offset = name.partition("-")
    return int(partition) == end.partition and int(offset) < end.offset
