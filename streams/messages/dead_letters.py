"""The messages of the topic `documents.dlq`."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import dump, escape_surrogates
from graphtide.streams.messages.fields import MALFORMED, SCHEMA, describe, load_record


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A revision that could not be processed: the reason, the number of attempts, and the original bytes."""

    graph: str
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    original: bytes

    def encode(self) -> bytes:
        return dump(
            {
                "schema": SCHEMA,
                "graph": escape_surrogates(self.graph),
                "doc_id": escape_surrogates(self.doc_id),
                "revision": self.revision,
                "stage": escape_surrogates(self.stage),
                "reason": escape_surrogates(self.reason),
                "attempts": self.attempts,
                "original": base64.b64encode(self.original).decode(),
            }
        )


def decode_dead_letter(value: bytes) -> DeadLetter:
    """Return the letter in a `documents.dlq` record, lone surrogates in its texts as escapes: no letter may be lost.

    Raises Rejected with the reason.
    """
    body = load_record(value)
    try:
        graph, doc_id, stage, reason = (
            escape_surrogates(body[name]) for name in ("graph", "doc_id", "stage", "reason")
        )
        original = base64.b64decode(body["original"])
        return DeadLetter(graph, doc_id, int(body["revision"]), stage, reason, int(body["attempts"]), original)
    except MALFORMED as error:
        raise Rejected(f"the dead letter is malformed: {describe(error)}") from error
