"""The dead-letter queue as operators use it: list letters, publish one again, or discard one.

The topic `documents.dlq` is append-only: a resolved letter is followed by a settlement record in the same partition.
Invariant: a settled letter is never retried or discarded again. A failure between publishing and settling can at worst
publish the document twice; the second is a newer revision with the same content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from graphtide.streams.consolidate.batches import STAGE as CONSOLIDATE
from graphtide.streams.dead_letters.erasure import parse_letter_mark
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
_AFTER = re.compile(r"([0-9]{1,18})-([0-9]{1,9})-([0-9]{1,18})")

Publish = Callable[[Record], Awaitable[Position]]


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter in the topic. `settled` says how it was resolved, "" while it is open."""

    id: str
    letter: DeadLetter
    buried_ms: int
    settled: str = ""
    size_bytes: int = 0
    """The size of the original."""


@dataclass(frozen=True, slots=True)
class LetterPage:
    """A page of letters, without their originals. `next` is the `after` of the next page, "" on the last."""

    letters: tuple[StoredDeadLetter, ...]
    next: str


async def list_dead_letters(log: Log, graph: str, *, settled: bool = False) -> Sequence[StoredDeadLetter]:
    """Return the open dead letters of a graph, oldest first, without their originals; `settled` adds resolved ones.

    Records whose key names no graph are in graph "". Cost: time, the whole topic; memory, the result.
    """
    found: dict[str, StoredDeadLetter] = {}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for delivered in records:
            value = delivered.record.value or b""
            if (settlement := _settlement(value)) is not None:
                name, how = settlement
                if not settled:
                    found.pop(name, None)
                elif name in found and not found[name].settled:
                    found[name] = replace(found[name], settled=how)
            elif (mark := parse_letter_mark(value)) is not None:
                if mark[0] == graph:
                    found = {name: stored for name, stored in found.items() if not _is_before(name, mark[1])}
            elif (letter := _letter(value)) is not None and letter.graph == graph:
                name = f"{delivered.position.partition}-{delivered.position.offset}"
                brief = replace(letter, original=b"")
                found[name] = StoredDeadLetter(name, brief, delivered.timestamp_ms, size_bytes=len(letter.original))
    return sorted(found.values(), key=_place)


async def count_dead_letters(log: Log) -> Mapping[str, int]:
    """Return the number of open dead letters by graph. Cost: time, the whole topic."""
    held: dict[str, str] = {}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for delivered in records:
            value = delivered.record.value or b""
            if (settlement := _settlement(value)) is not None:
                held.pop(settlement[0], None)
            elif (mark := parse_letter_mark(value)) is not None:
                held = {name: of for name, of in held.items() if of != mark[0] or not _is_before(name, mark[1])}
            elif (letter := _letter(value)) is not None:
                held[f"{delivered.position.partition}-{delivered.position.offset}"] = letter.graph
    return Counter(held.values())


@dataclass(frozen=True, slots=True)
class LetterPlace:
    """Position of a letter, the document that it is about, if it was resolved, and if its graph was deleted since."""

    position: Position
    graph: str
    doc_id: str
    settled: bool = False
    erased: bool = False


async def letter_places(log: Log) -> Sequence[LetterPlace]:
    """Return the places of all letters, in the order of each partition. Cost: time, the whole topic."""
    found: dict[str, LetterPlace] = {}
    settled: set[str] = set()
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for delivered in records:
            value, place = delivered.record.value or b"", delivered.position
            if (settlement := _settlement(value)) is not None:
                settled.add(settlement[0])
            elif (mark := parse_letter_mark(value)) is not None:
                for name, letter_place in found.items():
                    if letter_place.graph == mark[0] and _is_before(name, mark[1]):
                        found[name] = replace(letter_place, erased=True)
            elif (letter := _letter(value)) is not None:
                found[f"{place.partition}-{place.offset}"] = LetterPlace(place, letter.graph, letter.doc_id)
    return [replace(letter, settled=name in settled) for name, letter in found.items()]


async def page(log: Log, graph: str, after: str = "", limit: int = 50, *, settled: bool = False) -> LetterPage:
    """Return at most `limit` letters after `after`, the `next` of another page. Raises Invalid."""
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid("limit", f"is {limit}; use 1 to {MAX_PAGE}")
    place = (-1, -1, -1)
    if after:
        if (parts := _AFTER.fullmatch(after)) is None:
            raise Invalid("after", f"{after[:40]!r} is not a page position; pass the next of the previous page")
        place = (int(parts[1]), int(parts[2]), int(parts[3]))
    later = [letter for letter in await list_dead_letters(log, graph, settled=settled) if _place(letter) > place]
    shown = tuple(later[:limit])
    return LetterPage(shown, "-".join(map(str, _place(shown[-1]))) if len(later) > limit else "")


async def get_dead_letter(log: Log, graph: str, name: str) -> StoredDeadLetter:
    """Return one dead letter with its original, settled or not. Raises Invalid for a malformed id, NotFound.

    Cost: its partition, from its offset to the end.
    """
    if (parts := _ID.fullmatch(name)) is None:
        raise Invalid("id", f"{name[:40]!r} is not the id of a dead letter; an id looks like 0-12")
    place = Position(int(parts[1]), int(parts[2]))
    ends = await log.end(DEAD_LETTERS)
    found: StoredDeadLetter | None = None
    if place.partition in ends:
        async with aclosing(read_up_to_end(log, DEAD_LETTERS, {**ends, place.partition: place.offset})) as records:
            async for delivered in records:
                value = delivered.record.value or b""
                if found is None:
                    letter = _letter(value) if delivered.position == place else None
                    if letter is None or letter.graph != graph:
                        break
                    found = StoredDeadLetter(name, letter, delivered.timestamp_ms, size_bytes=len(letter.original))
                elif (settlement := _settlement(value)) is not None and settlement[0] == name:
                    found = replace(found, settled=settlement[1])
                elif (mark := parse_letter_mark(value)) is not None and mark[0] == graph and _is_before(name, mark[1]):
                    found = None
                    break
    if found is None:
        raise NotFound(f"graph {graph!r} has no dead letter {name}")
    return found


async def retry(log: Log, graph: str, name: str, publish: Publish, instead: DocumentMessage | None = None) -> Position:
    """Publish the original again, or a correction, and settle the letter. Returns the position of the new revision.

    Raises Invalid when there is nothing to publish, when the original is malformed, when the correction is of another
    document, or when the letter is already settled; NotFound.
    """
    stored = await _open(log, graph, name)
    position = await publish(original(stored.letter) if instead is None else _corrected(stored.letter, instead))
    await _settle(log, stored, RETRIED)
    return position


async def discard(log: Log, graph: str, name: str) -> None:
    """Settle the letter without publishing it. Raises Invalid when it is already settled; NotFound."""
    await _settle(log, await _open(log, graph, name), DROPPED)


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


def _corrected(letter: DeadLetter, instead: DocumentMessage) -> Record:
    if instead.key != document_key(letter.graph, letter.doc_id):
        raise Invalid("id", "the correction is of another document: publish that one, and discard the dead letter")
    return Record(instead.key, instead.encode())


async def _open(log: Log, graph: str, name: str) -> StoredDeadLetter:
    stored = await get_dead_letter(log, graph, name)
    if stored.settled:
        raise Invalid("id", f"the dead letter {name} is already settled: it was {stored.settled}")
    return stored


async def _settle(log: Log, stored: StoredDeadLetter, how: str) -> None:
    body = {"schema": SCHEMA, "settles": stored.id, "how": how}
    key = document_key(stored.letter.graph, stored.letter.doc_id)
    await log.append(DEAD_LETTERS, [Record(key, json.dumps(body).encode())])


def _letter(value: bytes) -> DeadLetter | None:
    try:
        return decode_dead_letter(value)
    except Rejected:  # not written by Graphtide
        return None


def _place(stored: StoredDeadLetter) -> tuple[int, int, int]:
    partition, _, offset = stored.id.partition("-")
    return stored.buried_ms, int(partition), int(offset)


def _is_before(name: str, end: Position) -> bool:
    """Return True if the letter of that id is before `end` in the same partition."""
    partition, _, offset = name.partition("-")
    return int(partition) == end.partition and int(offset) < end.offset


def _settlement(value: bytes) -> tuple[str, str] | None:
    try:
        body = json.loads(value)
        return str(body["settles"]), str(body["how"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
