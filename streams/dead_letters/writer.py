"""The writer of dead letters: each is written once, even if the process dies before the next durable step."""

from __future__ import annotations

from contextlib import aclosing

from graphtide.streams.errors import Rejected
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter, decode_dead_letter, document_key
from graphtide.streams.ports import Log, Record

LOOK_BACK = 256
"""Number of latest dead letters to check for a duplicate; a process writes far fewer between two durable steps."""


async def write_dead_letter(log: Log, letter: DeadLetter) -> None:
    """Append the letter to `documents.dlq`, unless it is among the latest ones.

    A process that dies after writing the letter and before committing the position reads the same record again.
    """
    if not await _is_written(log, letter):
        await log.append(DEAD_LETTERS, [Record(document_key(letter.graph, letter.doc_id), letter.encode())])


async def _is_written(log: Log, letter: DeadLetter) -> bool:
    starts = {number: max(0, end - LOOK_BACK) for number, end in (await log.end(DEAD_LETTERS)).items()}
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, starts)) as found:
        async for delivered in found:
            if _identity(delivered.record.value or b"") == _named(letter):
                return True
    return False


def _named(letter: DeadLetter) -> tuple[str, str, int, str]:
    return letter.graph, letter.doc_id, letter.revision, letter.stage


def _identity(value: bytes) -> tuple[str, str, int, str] | None:
    try:
        return _named(decode_dead_letter(value))
    except Rejected:  # not written by Graphtide
        return None
