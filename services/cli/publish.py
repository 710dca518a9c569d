"""Publishes documents in batches and, if asked to, waits until each has reached its end.

Not the reading of files: `sources.py`. The invariant: every document is accounted for, as accepted or by name.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from graphtide.services.cli.client import Client, Json, document_path
from graphtide.services.cli.sources import DocumentSource, Unreadable

BATCH_DOCUMENTS = 200
BATCH_BYTES = 4 << 20
_POLL_S = (0.05, 2.0)


@dataclass(slots=True)
class PublishResult:
    """What became of a publish. Filled as it goes."""

    token: str = ""
    accepted: int = 0
    problems: list[Unreadable] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> Json:
        rejected = [{"name": each.name, "message": each.reason} for each in self.problems]
        said: Json = {"token": self.token, "accepted": self.accepted, "rejected": rejected}
        return said | ({"states": self.states} if self.states else {})


def publish_all(
    client: Client, graph: str, found: Iterable[DocumentSource | Unreadable], advance: Callable[[int], None]
) -> PublishResult:
    """Send all, a batch at a time; `advance` hears how many are done with. Raises CommandError."""
    outcome = PublishResult()
    for batch in _batches(found, outcome.problems, advance):
        _send(client, graph, batch, outcome)
        advance(len(batch))
    return outcome


def _batches(
    found: Iterable[DocumentSource | Unreadable], problems: list[Unreadable], advance: Callable[[int], None]
) -> Iterator[list[DocumentSource]]:
    batch: list[DocumentSource] = []
    size_bytes = 0
    for each in found:
        if isinstance(each, Unreadable):
            problems.append(each)
            advance(1)
            continue
        if batch and (len(batch) >= BATCH_DOCUMENTS or size_bytes + len(each.line) > BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(each)
        size_bytes += len(each.line)
    if batch:
        yield batch


def _send(client: Client, graph: str, batch: list[DocumentSource], outcome: PublishResult) -> None:
    receipt = client.publish(graph, b"".join(each.line for each in batch))
    outcome.token = receipt["token"] or outcome.token
    outcome.accepted += receipt["accepted"]
    refused = {each["index"]: each for each in receipt["rejected"]}
    for index, each in enumerate(batch):
        if index not in refused:
            outcome.doc_ids.append(each.doc_id)
            continue
        said = refused[index]
        reason = f"{said['field']} {said['message']}" if said["field"] else said["message"]
        outcome.problems.append(Unreadable(each.name, reason))


def wait_for_all(client: Client, graph: str, outcome: PublishResult, advance: Callable[[int], None]) -> None:
    """Ask after each document until none is accepted only; the failed ones become problems. Raises CommandError.

    What a document waits for is said once, so that nobody waits for an endpoint that is away without knowing it.
    """
    waiting, pause_s, said = list(dict.fromkeys(outcome.doc_ids)), _POLL_S[0], ""
    while waiting:
        status = client.get(document_path(graph, waiting[0]))
        if status["state"] == "accepted":
            if status["reason"] not in ("", said):
                said = status["reason"]
                client.tell(f"{waiting[0]} waits: {said}")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _POLL_S[1])
            continue
        pause_s = _POLL_S[0]
        doc_id = waiting.pop(0)
        outcome.states[status["state"]] = outcome.states.get(status["state"], 0) + 1
        if status["state"] == "failed":
            outcome.problems.append(Unreadable(doc_id, f"failed: {status['reason']}"))
        advance(1)
