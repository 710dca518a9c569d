"""One pass of `sync`: reads what changed, publishes it, deletes what is gone, and waits for the graph.

1. List the folder; a file of known size and time, or etag, is not read, one of known content is not converted.
2. Publish new and changed documents in batches; note before each what will be sent, and afterwards what the service
   accepted.
3. Delete the documents whose file is gone, after what replaces them was published. A file is gone if its folder was
   listed completely without it, and a look-up of the file itself confirms that.
4. Wait until the service has processed all of them; one that fails is forgotten, so that the next pass repeats it.

The invariant: an interruption or a death at any step leaves documents that are either as before or as in the folder,
and the next pass does the rest.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any

from graphtide.infra.files.reader import read_bytes
from graphtide.infra.files.types import (
    EmptyFileError,
    FileDocument,
    MissingReaderError,
    RecordProblem,
    UnreadableFileError,
)
from graphtide.services.cli.client import Client, Json, document_path, graph_path, listed_documents
from graphtide.services.cli.exit_codes import NOT_FOUND, CommandError
from graphtide.services.cli.publish import BATCH_BYTES, BATCH_DOCUMENTS, DocumentWait
from graphtide.services.cli.sources import DocumentSource, Unreadable, source_of
from graphtide.services.cli.sync.other_folders import FolderRegister
from graphtide.services.cli.sync.refusals import file_names, refuse_empty_folder, refuse_pruning_others
from graphtide.services.cli.sync.scan import FolderScan, scan_tree
from graphtide.services.cli.sync.state import DOUBTED, KnownFile, Problem, SyncState, load_state
from graphtide.services.cli.sync.tree import FoundFile, LocalTree
from graphtide.services.cli.sync.types import SyncOptions, SyncResult
from graphtide.services.cli.terminal import Advance

Bar = Callable[[str, int], Advance]
SAVE_EVERY_S = 5.0
"""The state is written whole, so not after every batch; after a death at most so much is compared again."""


def sync_once(client: Client, options: SyncOptions, bar: Bar, result: SyncResult) -> None:
    """Make the graph follow the folder, once; fills `result` while it works. Raises CommandError."""
    result.dry_run = options.dry_run
    _Pass(client, options, bar, result).run()


class _Pass:
    """The state of one pass."""

    def __init__(self, client: Client, options: SyncOptions, bar: Bar, result: SyncResult) -> None:
        self._client, self._options, self._bar, self._result = client, options, bar, result
        self._state: SyncState = load_state(options.tree, client.url, options.graph)
        self._adopting = False
        self._scan = FolderScan()
        self._skipped: set[str] = set()
        self._present: set[str] = set()
        self._unreadable: set[str] = set()
        self._gone: dict[str, bool] = {}
        self._renames: dict[str, str] = {}
        self._batch: list[tuple[DocumentSource, str]] = []
        self._batch_bytes = 0
        self._reading: list[tuple[str, KnownFile, set[str]]] = []
        self._waiting: list[str] = []
        self._last_sent = ""
        self._save_after = 0.0

    def run(self) -> None:
        scan = self._scan = scan_tree(self._options.tree)
        self._result.skipped.extend(scan.skipped)
        self._skipped = {each.name for each in scan.skipped}
        self._result.listed = scan.listed
        self._compare_with_service()
        files = scan.files.keys()
        refuse_empty_folder(self._options, self._state, files, self._published)
        refuse_pruning_others(self._options, self._state, self._client.url, files, self._published, self._is_gone)
        try:
            self._follow(scan)
        finally:
            self._save()

    def _follow(self, scan: FolderScan) -> None:
        gone = {known.digest: name for name, known in self._state.files.items() if name not in scan.files}
        advance = self._bar("read", len(scan.files))
        for file in scan.files.values():
            self._take(file, gone)
            advance(1)
        self._flush()
        self._delete()
        if self._options.wait and not self._options.dry_run:
            self._save()
            self._wait()
        if self._last_sent and (status := self._status(self._last_sent)):
            self._state.witness = (self._last_sent, status["revision"])

    def _compare_with_service(self) -> None:
        """Forget what the service does not hold, and doubt all if it was restored; without a state ask for each one.

        Counts may lag behind what the service accepted, so a smaller count only makes this ask for the list.
        """
        if self._is_restored():
            self._state.doubt(list(self._state.documents))
            self._state.witness = None
        stats = self._stats()
        stored = stats["counts"].get("documents", 0) if stats else 0
        if stored < len(self._state.documents):
            accepted = {each["id"] for each in listed_documents(self._client, self._options.graph)} if stats else set()
            for doc_id in [doc_id for doc_id in self._state.documents if doc_id not in accepted]:
                del self._state.documents[doc_id]
            kept = self._state.documents.keys()
            self._state.files = {name: each for name, each in self._state.files.items() if kept >= set(each.doc_ids)}
        self._adopting = bool(stored) and not self._state.documents

    def _is_restored(self) -> bool:
        """Return whether the service has an older revision than this folder published, such as that of a backup."""
        if self._state.witness is None:
            return False
        doc_id, revision = self._state.witness
        status = self._status(doc_id)
        return status is None or status["revision"] < revision

    def _stats(self) -> Json | None:
        try:
            return self._client.get(f"{graph_path(self._options.graph)}/stats")
        except CommandError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    # -- reading -------------------------------------------------------------------------------------------------------

    def _take(self, file: FoundFile, gone: dict[str, str]) -> None:
        known = self._state.unchanged(file)
        if known is None:
            try:
                raw = self._options.tree.read(file.name, file.size)
            except OSError as error:
                self._keep_unreadable(file, f"cannot be read: {error.strerror or error}")
                return
            digest = blake2b(raw, digest_size=16).hexdigest()
            before = self._state.files.get(file.name)
            if before is None or before.digest != digest or not self._state.is_settled(before):
                self._read(file, raw, digest, gone)
                return
            known = replace(before, size=file.size, mtime_ns=file.mtime_ns, etag=file.etag)
            self._state.files[file.name] = known
        if known.is_kept:
            self._unreadable.add(file.name)
        self._result.unchanged += sum(1 for doc_id in known.doc_ids if doc_id in self._state.documents)
        self._present.update(known.doc_ids)
        self._result.skipped.extend(Unreadable(*each) for each in known.problems)

    def _keep_unreadable(self, file: FoundFile, reason: str) -> None:
        """Report a file that cannot be read now, and keep its documents: it still exists."""
        self._result.skipped.append(Unreadable(file.name, reason))
        self._unreadable.add(file.name)
        known = self._state.files.get(file.name)
        self._present.update(known.doc_ids if known else ())

    def _read(self, file: FoundFile, raw: bytes, digest: str, gone: dict[str, str]) -> None:
        """Compare the documents of a file with the state. A file that its reader refuses keeps those that it had; one
        whose reader is missing is read again by the next pass.
        """
        problems: list[Problem] = []
        sources: list[DocumentSource] = []
        kept: tuple[str, ...] = ()
        is_kept = False
        try:
            sources.extend(self._documents(file, raw, problems))
        except MissingReaderError as error:
            self._keep_unreadable(file, str(error))
            return
        except UnreadableFileError as error:
            problems.append((file.name, str(error), ""))
            if is_kept := not isinstance(error, EmptyFileError):
                before = self._state.files.get(file.name)
                kept = before.doc_ids if before else ()
                self._unreadable.add(file.name)
        doc_ids = [source.doc_id for source in sources]
        if digest in gone and len(sources) == 1:
            self._renames[sources[0].doc_id] = gone.pop(digest)
        every = tuple(dict.fromkeys((*doc_ids, *kept)))
        known = KnownFile(file.size, file.mtime_ns, digest, every, tuple(problems), file.etag, is_kept)
        self._result.skipped.extend(Unreadable(*each) for each in problems)
        self._present.update(every)
        self._reading.append((file.name, known, set(doc_ids)))
        for source in sources:
            self._compare(source)
        self._finish_files()

    def _documents(self, file: FoundFile, raw: bytes, problems: list[Problem]) -> Iterator[DocumentSource]:
        """Yield the documents of a file. Raises UnreadableFileError."""
        origin = f"{self._options.tree.origin}/{file.name}"
        for record in read_bytes(raw, file.name):
            if isinstance(record, RecordProblem):
                problems.append((f"{file.name}:{record.line}", record.reason, record.content))
            else:
                yield source_of(record, _doc_id(file.name, record), origin)

    def _compare(self, source: DocumentSource) -> None:
        digest = blake2b(source.line, digest_size=12).hexdigest()
        known = self._state.documents.get(source.doc_id)
        if not known and (self._adopting or known == DOUBTED) and self._is_in_graph(source):
            known = self._state.documents[source.doc_id] = digest
        if known == digest:
            self._result.unchanged += 1
            self._accepted(source.doc_id, digest)
            return
        (self._result.new if known is None else self._result.changed).append(source.doc_id)
        if self._options.dry_run:
            return
        if self._batch and self._batch_bytes + len(source.line) > BATCH_BYTES:
            self._flush()
        self._batch.append((source, digest))
        self._batch_bytes += len(source.line)
        if len(self._batch) >= BATCH_DOCUMENTS:
            self._flush()

    def _is_in_graph(self, source: DocumentSource) -> bool:
        """Return True if the service holds the document as it is in the folder."""
        body: dict[str, Any] = json.loads(source.line)
        stored = self._status(source.doc_id)
        names = ("text", "media_type", "source", *(name for name in ("title", "occurred_at") if body.get(name)))
        return stored is not None and stored["state"] == "applied" and all(stored[n] == body.get(n, "") for n in names)

    def _status(self, doc_id: str) -> Json | None:
        try:
            return self._client.get(document_path(self._options.graph, doc_id))
        except CommandError as error:
            if error.code == NOT_FOUND:
                return None
            raise

    # -- publishing ----------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Publish the batch, and record what the service accepted."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        if not batch:
            return
        self._announce([source.doc_id for source, _ in batch])
        receipt = self._client.publish(self._options.graph, b"".join(source.line for source, _ in batch))
        self._result.token = receipt["token"] or self._result.token
        refused = {each["index"]: each for each in receipt["rejected"]}
        for index, (source, digest) in enumerate(batch):
            if index in refused:
                reason = f"{refused[index]['field']} {refused[index]['message']}".strip()
                self._result.failed.append(Unreadable(source.doc_id, reason))
                self._forget(source.doc_id)
            else:
                self._accepted(source.doc_id, digest)
                self._waiting.append(source.doc_id)
                self._last_sent = source.doc_id
        self._finish_files()
        if time.monotonic() >= self._save_after:
            self._save()

    def _announce(self, doc_ids: Sequence[str]) -> None:
        """Doubt documents before another version of them is sent: reply and next save may never come."""
        try:
            self._state.announce(doc_ids)
        except OSError as error:
            self._warn(error)
        self._state.doubt(doc_ids)

    def _accepted(self, doc_id: str, digest: str) -> None:
        self._state.documents[doc_id] = digest
        for _, _, left in self._reading:
            left.discard(doc_id)

    def _finish_files(self) -> None:
        """Record the files of which every document was accepted."""
        for name, known, left in self._reading:
            if not left:
                self._state.files[name] = known
        self._reading = [each for each in self._reading if each[2]]

    def _delete(self) -> None:
        """Delete the documents of files that are gone, and of records that are no longer in their file."""
        surplus = self._surplus()
        self._result.renamed = [(old, new) for new, old in self._renames.items() if old in surplus]
        self._result.deleted = surplus
        if self._options.dry_run:
            return
        self._announce(surplus)
        advance = self._bar("deleted", len(surplus))
        for doc_id in surplus:
            try:
                self._result.token = self._client.delete(document_path(self._options.graph, doc_id))["token"]
                self._waiting.append(doc_id)
            except CommandError as error:
                if error.code != NOT_FOUND:
                    raise
            self._state.documents.pop(doc_id, None)
            advance(1)
        for name in [name for name in self._state.files if name not in self._scan.files and self._is_gone(name)]:
            del self._state.files[name]

    def _surplus(self) -> list[str]:
        """Return the documents whose file is gone, or no longer contains them."""
        owners = self._state.owners()
        known = [doc_id for doc_id in self._state.documents if doc_id not in self._present]
        if self._options.prune:
            seen = {*known, *self._present}
            known += [doc_id for doc_id in self._published_here if doc_id not in seen]
        return [doc_id for doc_id in known if all(map(self._is_gone, file_names(doc_id, owners)))]

    def _is_gone(self, name: str) -> bool:
        """Return True if no file has that name, or the file was read: then it lacks what is asked for."""
        if name not in self._gone:
            self._gone[name] = self._look_for(name)
        return self._gone[name]

    def _look_for(self, name: str) -> bool:
        if name in self._unreadable or self._scan.is_unread(name):
            return False
        if name in self._scan.files or self._scan.leaves_out(name):
            return True
        try:
            if not self._options.tree.has(name):
                return True
            if name in self._skipped:
                return False
            reason = "is missing in the listing and exists; its documents are kept"
        except OSError as error:
            reason = (
                f"is missing in the listing and cannot be looked up ({error.strerror or error}); its documents are kept"
            )
        self._result.skipped.append(Unreadable(name, reason))
        return False

    def _published(self) -> list[str]:
        return self._published_here

    @cached_property
    def _published_here(self) -> list[str]:
        """The ids of the documents in the graph that came from this folder, by their source, before this pass."""
        prefix, found = f"{self._options.tree.origin}/", list[str]()
        if self._stats() is None:
            return found
        for each in listed_documents(self._client, self._options.graph):
            name = each["id"].partition("#")[0] if each["source"] != prefix + each["id"] else each["id"]
            if each["source"] == prefix + name:
                found.append(each["id"])
        return found

    def _wait(self) -> None:
        """Poll each document until the service has processed it; one that failed is reported and forgotten."""
        waiting, wait = list(dict.fromkeys(self._waiting)), DocumentWait(self._client.tell)
        advance = self._bar("in the graph", len(waiting))
        for doc_id in waiting:
            ended = wait.ended(doc_id, partial(self._status, doc_id))
            if ended is not None and ended["state"] == "failed":
                self._result.failed.append(Unreadable(doc_id, f"failed: {ended['reason']}"))
                self._forget(doc_id)
            advance(1)

    def _forget(self, doc_id: str) -> None:
        """Count a document as failed, and forget it and its file, so that the next pass publishes it again."""
        for done in (self._result.new, self._result.changed):
            if doc_id in done:
                done.remove(doc_id)
        self._state.documents.pop(doc_id, None)
        for name in [name for name, known in self._state.files.items() if doc_id in known.doc_ids]:
            del self._state.files[name]

    def _save(self) -> None:
        if self._options.dry_run:
            return
        self._save_after = time.monotonic() + SAVE_EVERY_S
        try:
            self._state.save()
            self._note_folder()
        except OSError as error:
            self._warn(error)

    def _note_folder(self) -> None:
        """Note that the graph follows this folder; without the note, --prune has the counts of documents alone."""
        if isinstance(self._options.tree, LocalTree) and self._state.documents:
            with suppress(OSError, CommandError):
                FolderRegister(self._client.url, self._options.graph).note(self._options.tree)

    def _warn(self, error: OSError) -> None:
        self._client.tell(f"{self._state.path} cannot be written ({error.strerror}): the next run compares again")


def _doc_id(name: str, document: FileDocument) -> str:
    return f"{name}#{document.key}" if document.key else name
