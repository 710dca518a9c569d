"""Publishing of documents in batches, with an optional wait until each is processed.

`sources.py` reads the files. The invariant: every document is reported, as accepted or by name with a reason.
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
    """The outcome of a publish, filled while it runs."""

    token: str = ""
    accepted: int = 0
    problems: list[Unreadable] = field(default_factory=list)
    doc_ids: list[str] = field(default_factory=list)
    states: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> Json:
        rejected = [{"name": each.name, "message": each.reason} for each in self.problems]
        body: Json = {"token": self.token, "accepted": self.accepted, "rejected": rejected}
        return body | ({"states": self.states} if self.states else {})


def publish_all(
    client: Client, graph: str, found: Iterable[DocumentSource | Unreadable], advance: Callable[[int], None]
) -> PublishResult:
    """Send all documents in batches; `advance` receives the numbers of processed ones. Raises CommandError."""
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
        rejection = refused[index]
        reason = f"{rejection['field']} {rejection['message']}" if rejection["field"] else rejection["message"]
        outcome.problems.append(Unreadable(each.name, reason))


def wait_for_all(client: Client, graph: str, outcome: PublishResult, advance: Callable[[int], None]) -> None:
    """Poll each document until its state is final; failed ones become problems. Raises CommandError.

    The reason why a document waits is printed once, so that the user notices an unreachable endpoint.
    """
    waiting, pause_s, reason = list(dict.fromkeys(outcome.doc_ids)), _POLL_S[0], ""
    while waiting:
        status = client.get(document_path(graph, waiting[0]))
        if status["state"] == "accepted":
            if status["reason"] not in ("", reason):
                reason = status["reason"]
                client.tell(f"{waiting[0]} waits: {reason}")
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _POLL_S[1])
            continue
        pause_s = _POLL_S[0]
        doc_id = waiting.pop(0)
        outcome.states[status["state"]] = outcome.states.get(status["state"], 0) + 1
        if status["state"] == "failed":
            outcome.problems.append(Unreadable(doc_id, f"failed: {status['reason']}"))
        advance(1)
