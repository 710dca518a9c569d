"""Dead letters, as a person deals with them: look at them, publish one anew, or say that it is dealt with.

The topic `documents.dlq` is the record of all of it: nothing is ever taken out, a letter that is dealt with has a
settlement behind it, in the same partition. Invariant: nothing is done twice to a settled letter; what fails between
publishing anew and settling is published twice, at worst, which is a newer revision that says the same.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from graphtide.streams.consolidate.stage import STAGE as CONSOLIDATE
from graphtide.streams.errors import Invalid, NotFound, Rejected
from graphtide.streams.log_scan import read_up_to_end
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

MAX_PAGE = 500
RETRIED, DROPPED = "retried", "dropped"
_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,18})")
_AFTER = re.compile(r"([0-9]{1,18})-([0-9]{1,9})-([0-9]{1,18})")

Publish = Callable[[Record], Awaitable[Position]]


@dataclass(frozen=True, slots=True)
class StoredDeadLetter:
    """A dead letter where it lies. `settled` is "" while nobody has dealt with it."""

    id: str
    letter: DeadLetter
    buried_ms: int
    settled: str = ""
    size_bytes: int = 0
    """Of the original."""


@dataclass(frozen=True, slots=True)
class LetterPage:
    """Some letters, without their originals. `next` is where the next page begins, "" on the last."""

    letters: tuple[StoredDeadLetter, ...]
    next: str


async def list_dead_letters(log: Log, graph: str, *, settled: bool = False) -> Sequence[StoredDeadLetter]:
    """The dead letters of a graph, oldest first, without their originals; those dealt with only when asked for.

    Records whose key names no graph are in graph "". Cost: time, all of the topic; memory, what is returned.
    """
    found: dict[str, StoredDeadLetter] = {}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for one in records:
            value = one.record.value or b""
            if (settlement := _settlement(value)) is not None:
                name, how = settlement
                if not settled:
                    found.pop(name, None)
                elif name in found and not found[name].settled:
                    found[name] = replace(found[name], settled=how)
            elif (letter := _letter(value)) is not None and letter.graph == graph:
                name = f"{one.position.partition}-{one.position.offset}"
                brief = replace(letter, original=b"")
                found[name] = StoredDeadLetter(name, brief, one.timestamp_ms, size_bytes=len(letter.original))
    return sorted(found.values(), key=_place)


async def count_dead_letters(log: Log) -> Mapping[str, int]:
    """By graph, how many dead letters nobody has dealt with. Cost: time, all of the topic."""
    held: dict[str, str] = {}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for one in records:
            value = one.record.value or b""
            if (settlement := _settlement(value)) is not None:
                held.pop(settlement[0], None)
            elif (letter := _letter(value)) is not None:
                held[f"{one.position.partition}-{one.position.offset}"] = letter.graph
    return Counter(held.values())


async def page(log: Log, graph: str, after: str = "", limit: int = 50, *, settled: bool = False) -> LetterPage:
    """Return at most `limit` letters after `after`, the `next` of another page. Raises Invalid."""
    if not 1 <= limit <= MAX_PAGE:
        raise Invalid("limit", f"is {limit}; give 1 to {MAX_PAGE}")
    place = (-1, -1, -1)
    if after:
        if (parts := _AFTER.fullmatch(after)) is None:
            raise Invalid("after", f"{after[:40]!r} is not the next of a page of dead letters")
        place = (int(parts[1]), int(parts[2]), int(parts[3]))
    behind = [one for one in await list_dead_letters(log, graph, settled=settled) if _place(one) > place]
    shown = tuple(behind[:limit])
    return LetterPage(shown, "-".join(map(str, _place(shown[-1]))) if len(behind) > limit else "")


async def get_dead_letter(log: Log, graph: str, name: str) -> StoredDeadLetter:
    """One dead letter, whole, by its id, settled or not. Raises Invalid for what is no id, NotFound.

    Cost: its partition, from where it lies to the end.
    """
    if (parts := _ID.fullmatch(name)) is None:
        raise Invalid("id", f"{name[:40]!r} is not the id of a dead letter, which looks like 0-12")
    place = Position(int(parts[1]), int(parts[2]))
    ends = await log.end(DEAD_LETTERS)
    found: StoredDeadLetter | None = None
    if place.partition in ends:
        async with aclosing(read_up_to_end(log, DEAD_LETTERS, {**ends, place.partition: place.offset})) as records:
            async for one in records:
                value = one.record.value or b""
                if found is None:
                    about = _letter(value) if one.position == place else None
                    if about is None or about.graph != graph:
                        break
                    found = StoredDeadLetter(name, about, one.timestamp_ms, size_bytes=len(about.original))
                elif (settlement := _settlement(value)) is not None and settlement[0] == name:
                    found = replace(found, settled=settlement[1])
                    break
    if found is None:
        raise NotFound(f"graph {graph!r} has no dead letter {name}")
    return found


async def retry(log: Log, graph: str, name: str, publish: Publish, instead: DocumentMessage | None = None) -> Position:
    """Publish the original anew, or a correction of it, and settle the letter; returns where the new revision stands.

    Raises Invalid when there is nothing to publish, when it could not be read again, when the correction is of another
    document, or when it is dealt with already; NotFound.
    """
    one = await _open(log, graph, name)
    position = await publish(original(one.letter) if instead is None else _corrected(one.letter, instead))
    await _settle(log, one, RETRIED)
    return position


async def discard(log: Log, graph: str, name: str) -> None:
    """Settle the letter: nothing more is to be done about it. Raises Invalid when it is already; NotFound."""
    await _settle(log, await _open(log, graph, name), DROPPED)


def original(letter: DeadLetter) -> Record:
    """The record of `documents` that the letter is about. Raises Invalid when there is none to be had."""
    key = document_key(letter.graph, letter.doc_id)
    try:
        split_document_key(key)
        if letter.stage != CONSOLIDATE:
            if not letter.original:
                raise Invalid("id", "the letter holds no document: publish it again, or delete it, as it was meant")
            decode_document(key, letter.original)
            return Record(key, letter.original)
        extraction = decode_extraction(letter.original).extraction
    except Rejected as error:
        raise Invalid("id", f"it cannot be published again as it is: {error}; send a correction") from error
    if extraction is None:
        return Record(key, None)
    return Record(key, DocumentMessage(letter.graph, letter.doc_id, extraction.text, extraction.info).encode())


def _corrected(letter: DeadLetter, instead: DocumentMessage) -> Record:
    if instead.key != document_key(letter.graph, letter.doc_id):
        raise Invalid("id", "the correction is of another document: publish it as that, and drop the letter")
    return Record(instead.key, instead.encode())


async def _open(log: Log, graph: str, name: str) -> StoredDeadLetter:
    one = await get_dead_letter(log, graph, name)
    if one.settled:
        raise Invalid("id", f"the dead letter {name} is dealt with already: it was {one.settled}")
    return one


async def _settle(log: Log, one: StoredDeadLetter, how: str) -> None:
    body = {"schema": SCHEMA, "settles": one.id, "how": how}
    key = document_key(one.letter.graph, one.letter.doc_id)
    await log.append(DEAD_LETTERS, [Record(key, json.dumps(body).encode())])


def _letter(value: bytes) -> DeadLetter | None:
    try:
        return decode_dead_letter(value)
    except Rejected:  # somebody else wrote to the topic
        return None


def _place(one: StoredDeadLetter) -> tuple[int, int, int]:
    partition, _, offset = one.id.partition("-")
    return one.buried_ms, int(partition), int(offset)


def _settlement(value: bytes) -> tuple[str, str] | None:
    try:
        body = json.loads(value)
        return str(body["settles"]), str(body["how"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
