"""Publishing of documents in batches, with an optional wait until each is processed.

`sources.py` reads the files. The invariant: every document is reported, as accepted or by name with a reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from graphtide.services.cli.client import Client, Json, document_path
from graphtide.services.cli.sources import DocumentSource, Unreadable

BATCH_DOCUMENTS = 200
BATCH_BYTES = 4 << 20
_POLL_S = (0.05, 2.0)
TELL_S = 10.0
"""Seconds between two reports of the progress of a large document."""


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


@dataclass(slots=True)
class DocumentWait:
    """Waits for one document after another. It prints the reason why one waits once, so that the user notices an
    unreachable endpoint, and the progress of a large one every TELL_S seconds.
    """

    tell: Callable[[str], None]
    reason: str = ""
    reported_s: float = field(default_factory=time.monotonic)

    def ended(self, doc_id: str, status: Callable[[], Json | None]) -> Json | None:
        """Poll `status` until the state of the document is final, and return the last status."""
        pause_s = _POLL_S[0]
        while (answer := status()) is not None and answer["state"] == "accepted":
            if answer["reason"] not in ("", self.reason):
                self.reason = answer["reason"]
                self.tell(f"{doc_id} waits: {self.reason}")
            self._tell_progress(doc_id, answer.get("progress"))
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _POLL_S[1])
        return answer

    def _tell_progress(self, doc_id: str, progress: Json | None) -> None:
        if progress is not None and time.monotonic() - self.reported_s >= TELL_S:
            self.reported_s = time.monotonic()
            self.tell(f"{doc_id}: {progress_text(progress)}")


def progress_text(progress: Json) -> str:
    """Return the progress of a large document as text."""
    if progress["stage"] == "apply":
        return f"all {progress['passages']:,} passages are embedded; they are being added to the graph"
    done, total, embedded = progress["extracted"], progress["passages"], progress["embedded"]
    return f"{done:,} of {total:,} passages extracted, {embedded:,} embedded"


def wait_for_all(client: Client, graph: str, outcome: PublishResult, advance: Callable[[int], None]) -> None:
    """Poll each document until its state is final; failed ones become problems. Raises CommandError."""
    wait = DocumentWait(client.tell)
    for doc_id in dict.fromkeys(outcome.doc_ids):
        status = wait.ended(doc_id, partial(client.get, document_path(graph, doc_id)))
        if status is None:
            continue
        outcome.states[status["state"]] = outcome.states.get(status["state"], 0) + 1
        if status["state"] == "failed":
            outcome.problems.append(Unreadable(doc_id, f"failed: {status['reason']}"))
        advance(1)
