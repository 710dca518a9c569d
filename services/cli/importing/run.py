"""One run of `import`: publishes the passages of a foreign store with their facts, so that no model extracts again.

1. Open the store; with `--dry-run` count what it contains and what is lost, and end.
2. Publish new and changed passages in batches; after each, record what the service accepted.
3. Wait until the service has processed them; one that fails is forgotten, so that the next run repeats it.

The invariant: a document depends on the store alone, so repeated and interrupted imports end in the same graph.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from graphtide.infra.imports.stores import ForeignStore
from graphtide.infra.imports.types import ImportedPassage
from graphtide.services.cli.client import Client, Json, listed_documents
from graphtide.services.cli.exit_codes import NOT_FOUND, CommandError
from graphtide.services.cli.publish import BATCH_BYTES, BATCH_DOCUMENTS, PublishResult, wait_for_all
from graphtide.services.cli.sources import Unreadable
from graphtide.services.cli.sync.run import Bar
from graphtide.services.cli.sync.state import SyncState, read_state
from graphtide.services.cli.sync.tree import state_folder


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """The options of an import."""

    path: Path
    graph: str
    dry_run: bool = False
    wait: bool = True


@dataclass(slots=True)
class ImportResult:
    """The outcome of an import, filled while it runs."""

    format: str = ""
    passages: int = 0
    entities: int = 0
    relations: int = 0
    published: int = 0
    unchanged: int = 0
    failed: list[Unreadable] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    token: str = ""
    dry_run: bool = False

    def as_json(self) -> Json:
        failed = [{"name": each.name, "reason": each.reason} for each in self.failed]
        names = ("format", "passages", "entities", "relations", "published", "unchanged", "lost", "token", "dry_run")
        return {name: getattr(self, name) for name in names} | {"failed": failed}


def import_store(client: Client, store: ForeignStore, options: ImportOptions, bar: Bar, result: ImportResult) -> None:
    """Publish a store's passages to the graph; fills `result` while it works. Raises CommandError."""
    _Import(client, store, options, bar, result).run()


class _Import:
    """The state of one import."""

    def __init__(
        self, client: Client, store: ForeignStore, options: ImportOptions, bar: Bar, result: ImportResult
    ) -> None:
        self._client, self._store, self._options, self._bar, self._result = client, store, options, bar, result
        key = json.dumps([client.url, options.graph, str(options.path.resolve())])
        name = blake2b(key.encode(), digest_size=6).hexdigest()
        self._state: SyncState = read_state(state_folder() / f"import-{name}.json")
        self._sent = PublishResult()

    def run(self) -> None:
        result, options = self._result, self._options
        result.format, result.dry_run = self._store.format, options.dry_run
        if not options.dry_run:
            self._forget_missing()
        try:
            self._publish()
        finally:
            result.lost = dict(self._store.losses.counts)
            self._save()
        if options.wait and not options.dry_run:
            wait_for_all(self._client, options.graph, self._sent, self._bar("in the graph", len(self._sent.doc_ids)))
            self._keep_failures()

    def _forget_missing(self) -> None:
        """Forget what the service does not hold, such as after the graph was deleted."""
        if self._state.documents:
            stored = self._in_graph()
            self._state.documents = {id_: each for id_, each in self._state.documents.items() if id_ in stored}

    def _in_graph(self) -> set[str]:
        try:
            return {each["id"] for each in listed_documents(self._client, self._options.graph)}
        except CommandError as error:
            if error.code != NOT_FOUND:
                raise
            return set()

    def _publish(self) -> None:
        advance = self._bar("imported", self._store.count())
        batch: list[tuple[str, bytes, str]] = []
        size_bytes = 0
        for passage in self._store.passages():
            self._count(passage)
            line = _line(passage)
            digest = blake2b(line, digest_size=12).hexdigest()
            if self._options.dry_run or self._state.documents.get(passage.id) == digest:
                self._result.unchanged += not self._options.dry_run
                advance(1)
                continue
            if batch and (len(batch) >= BATCH_DOCUMENTS or size_bytes + len(line) > BATCH_BYTES):
                self._send(batch)
                advance(len(batch))
                batch, size_bytes = [], 0
            batch.append((passage.id, line, digest))
            size_bytes += len(line)
        if batch:
            self._send(batch)
            advance(len(batch))

    def _count(self, passage: ImportedPassage) -> None:
        self._result.passages += 1
        self._result.entities += len(passage.entities)
        self._result.relations += len(passage.relations)

    def _send(self, batch: list[tuple[str, bytes, str]]) -> None:
        receipt = self._client.publish(self._options.graph, b"".join(line for _, line, _ in batch))
        self._result.token = receipt["token"] or self._result.token
        refused = {each["index"]: each for each in receipt["rejected"]}
        for index, (doc_id, _, digest) in enumerate(batch):
            if index in refused:
                reason = f"{refused[index]['field']} {refused[index]['message']}".strip()
                self._result.failed.append(Unreadable(doc_id, reason))
                continue
            self._state.documents[doc_id] = digest
            self._sent.doc_ids.append(doc_id)
            self._result.published += 1
        self._save()

    def _keep_failures(self) -> None:
        for problem in self._sent.problems:
            self._state.documents.pop(problem.name, None)
        self._result.failed.extend(self._sent.problems)
        self._result.published -= len(self._sent.problems)
        self._save()

    def _save(self) -> None:
        if self._options.dry_run:
            return
        try:
            self._state.save()
        except OSError as error:
            self._client.tell(f"{self._state.path} cannot be written ({error.strerror}): the next run publishes again")


def _line(passage: ImportedPassage) -> bytes:
    """Return the passage as a document with its facts, as one line of NDJSON."""
    metadata: dict[str, Any] = {"document": passage.document} if passage.document else {}
    if passage.number is not None:
        metadata["chunk"] = passage.number
    body: dict[str, Any] = {"id": passage.id, "text": passage.text, "title": passage.title, "source": passage.source}
    body = {name: value for name, value in {**body, "metadata": metadata}.items() if value}
    body["entities"] = [
        _filled({"name": each.name, "type": each.type, "description": each.description}) for each in passage.entities
    ]
    body["facts"] = [
        _filled({"subject": each.subject, "predicate": each.predicate, "object": each.object,
                 "description": each.description, "weight": each.weight})
        for each in passage.relations
    ]  # fmt: skip
    return json.dumps(body).encode() + b"\n"


def _filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
