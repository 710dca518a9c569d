"""Dead letters, as a person deals with them: look at them, publish one anew, or say that it is dealt with.

The topic `documents.dlq` is the record of all of it: nothing is ever taken out, a letter that is dealt with has a
`Settlement` behind it. Invariant: nothing is done twice to a settled letter; what fails between publishing anew and
settling is published twice, at worst, which is a newer revision that says the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from streams.consolidate import STAGE as CONSOLIDATE
from streams.errors import Invalid, NotFound, Rejected
from streams.messages import (
    DEAD_LETTERS,
    SCHEMA,
    DeadLetter,
    DocumentMessage,
    decode_dead_letter,
    decode_extraction,
    document_key,
    split_document_key,
)
from streams.ports import Log, Position, Record
from streams.reading import read_up_to_end

RETRIED, DROPPED = "retried", "dropped"
_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,18})")

Publish = Callable[[Record], Awaitable[Position]]


@dataclass(frozen=True, slots=True)
class Buried:
    """A dead letter where it lies. `settled` is "" while nobody has dealt with it."""

    id: str
    letter: DeadLetter
    buried_ms: int
    settled: str = ""


async def letters(log: Log, graph: str, *, settled: bool = False) -> Sequence[Buried]:
    """The dead letters of a graph, oldest first; those that are dealt with only when asked for.

    Records whose key names no graph are in graph "". Cost: all of the topic.
    """
    found: dict[str, Buried] = {}
    ends: dict[str, str] = {}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for one in records:
            value = one.record.value or b""
            if (settlement := _settlement(value)) is not None:
                ends.setdefault(*settlement)
                continue
            try:
                letter = decode_dead_letter(value)
            except Rejected:  # somebody else wrote to the topic
                continue
            if letter.graph == graph:
                name = f"{one.position.partition}-{one.position.offset}"
                found[name] = Buried(name, letter, one.timestamp_ms)
    stand = [Buried(one.id, one.letter, one.buried_ms, ends.get(name, "")) for name, one in found.items()]
    return sorted((one for one in stand if settled or not one.settled), key=lambda one: (one.buried_ms, one.id))


async def letter(log: Log, graph: str, name: str) -> Buried:
    """One dead letter, by its id, settled or not. Raises Invalid for what is no id, NotFound."""
    if _ID.fullmatch(name) is None:
        raise Invalid("id", f"{name[:40]!r} is not the id of a dead letter, which looks like 0-12")
    for one in await letters(log, graph, settled=True):
        if one.id == name:
            return one
    raise NotFound(f"graph {graph!r} has no dead letter {name}")


async def retry(log: Log, graph: str, name: str, publish: Publish) -> Position:
    """Publish the original anew, as a new revision, and settle the letter; returns where the revision stands.

    Raises Invalid when there is nothing to publish, or when it is dealt with already; NotFound.
    """
    one = await _open(log, graph, name)
    position = await publish(original(one.letter))
    await _settle(log, one, RETRIED)
    return position


async def drop(log: Log, graph: str, name: str) -> None:
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
            return Record(key, letter.original)
        extraction = decode_extraction(letter.original).extraction
    except Rejected as error:
        raise Invalid("id", f"it cannot be published again as it is: {error}") from error
    if extraction is None:
        return Record(key, None)
    return Record(key, DocumentMessage(letter.graph, letter.doc_id, extraction.text, extraction.info).encode())


async def _open(log: Log, graph: str, name: str) -> Buried:
    one = await letter(log, graph, name)
    if one.settled:
        raise Invalid("id", f"the dead letter {name} is dealt with already: it was {one.settled}")
    return one


async def _settle(log: Log, one: Buried, how: str) -> None:
    body = {"schema": SCHEMA, "settles": one.id, "how": how}
    key = document_key(one.letter.graph, one.letter.doc_id)
    await log.append(DEAD_LETTERS, [Record(key, json.dumps(body).encode())])


def _settlement(value: bytes) -> tuple[str, str] | None:
    try:
        body = json.loads(value)
        return str(body["settles"]), str(body["how"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
