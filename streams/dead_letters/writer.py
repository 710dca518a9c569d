"""Burying a record that can never be taken: once, although the process may die before anything else says so."""

from __future__ import annotations

from contextlib import aclosing

from graphtide.streams.errors import Rejected
from graphtide.streams.log_scan import read_up_to_end
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter, decode_dead_letter, document_key
from graphtide.streams.ports import Log, Record

LOOK_BACK = 256
"""Dead letters that a process may have written between its last durable step and its death; far fewer are."""


async def write_dead_letter(log: Log, letter: DeadLetter) -> None:
    """Append the letter to `documents.dlq`, unless it is among the last that were.

    A process that dies after the letter, and before the position has advanced, comes by the same record again.
    """
    if not await _is_buried(log, letter):
        await log.append(DEAD_LETTERS, [Record(document_key(letter.graph, letter.doc_id), letter.encode())])


async def _is_buried(log: Log, letter: DeadLetter) -> bool:
    starts = {number: max(0, end - LOOK_BACK) for number, end in (await log.end(DEAD_LETTERS)).items()}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, starts)) as found:
        async for one in found:
            if _identity(one.record.value or b"") == _named(letter):
                return True
    return False


def _named(letter: DeadLetter) -> tuple[str, str, int, str]:
    return letter.graph, letter.doc_id, letter.revision, letter.stage


def _identity(value: bytes) -> tuple[str, str, int, str] | None:
    try:
        return _named(decode_dead_letter(value))
    except Rejected:  # somebody else wrote to the topic
        return None
