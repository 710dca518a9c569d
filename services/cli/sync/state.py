"""The record of the last run of `sync`: files by size, time, etag and hash, documents by digest.

The file may be lost or stale at any time: it saves work and is never the only record. Invariants: it is replaced in one
step; it gives a document a digest only after the service has accepted it, and the digest is doubted before another
version of the document is sent: a second file lists what was announced since the first one was written.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from graphtide.infra.files.reader import READER_VERSION
from graphtide.services.cli.sync.tree import STATE_FOLDER, FileTree, FoundFile

_RACY_NS = 2_000_000_000
"""A file that changed so shortly before it was read may change again within the clock's resolution."""


Problem = tuple[str, str, str]
"""The name of a file or record that was skipped, the reason, and what identifies the content of a line, else ""."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was read; `doc_ids` are its documents, `problems` the reasons why it, or records, were skipped.
    `is_kept` tells that it could not be read, and that its documents are those of an earlier content.
    """

    size: int
    mtime_ns: int
    digest: str
    doc_ids: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    etag: str = ""
    is_kept: bool = False


DOUBTED = ""
"""The digest of a document of which it is not known which version the service has."""


@dataclass(slots=True)
class SyncState:
    """Files by name, and the digests of accepted documents by id. `witness` is a document that was sent last, with its
    revision: a service that has an older one was restored from a backup.
    """

    path: Path
    files: dict[str, KnownFile] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    witness: tuple[str, int] | None = None

    def unchanged(self, file: FoundFile) -> KnownFile | None:
        """Return the file as it is known, if its size and its etag, or without one its time, are the same."""
        known = self.files.get(file.name)
        if known is None or (known.size, known.etag) != (file.size, file.etag) or not self.is_settled(known):
            return None
        return known if file.etag or (file.mtime_ns and known.mtime_ns == file.mtime_ns) else None

    def doubt(self, doc_ids: Iterable[str]) -> None:
        """Doubt these documents: they are compared with the service, or sent again, whatever their files show."""
        self.documents.update((doc_id, DOUBTED) for doc_id in doc_ids if doc_id in self.documents)

    def owners(self) -> dict[str, str]:
        """Return the names of the files of the documents that the record knows, by document."""
        return {doc_id: name for name, known in self.files.items() for doc_id in known.doc_ids}

    def is_settled(self, known: KnownFile) -> bool:
        """Return whether it is known which version of each of the file's documents the service has."""
        return all(map(self.documents.get, known.doc_ids))

    def announce(self, doc_ids: Sequence[str]) -> None:
        """Note, before they are sent or deleted, that the digests of these documents may no longer hold: if the process
        ends before `save`, the next one doubts them. Cost: linear in the ids. Raises OSError.
        """
        if any(self.documents.get(doc_id) for doc_id in doc_ids):
            self._make_folder()
            with self._announced.open("a") as file:
                file.write(json.dumps(doc_ids) + "\n")

    def save(self) -> None:
        """Replace the file. Raises OSError, also if the folder that has it is gone."""
        now = time.time_ns()
        files = {name: _row(known, now) for name, known in self.files.items()}
        body = {"reader": READER_VERSION, "files": files, "documents": self.documents, "witness": self.witness}
        self._make_folder()
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(body))
        temporary.replace(self.path)
        self._announced.unlink(missing_ok=True)

    @property
    def _announced(self) -> Path:
        return self.path.with_suffix(".sent")

    def _make_folder(self) -> None:
        """Create the folder of the file, but not the folder that is followed, which may be gone."""
        self.path.parent.mkdir(mode=0o700, parents=self.path.parent.name != STATE_FOLDER, exist_ok=True)

    def doubt_announced(self) -> None:
        """Doubt what a pass announced that did not end."""
        with suppress(OSError):
            for line in self._announced.read_text().splitlines():
                with suppress(ValueError, TypeError):
                    self.doubt([str(doc_id) for doc_id in json.loads(line)])


def _problem(row: Sequence[str]) -> Problem:
    """Return a problem of a record, also of one that has no content for its line."""
    name, reason, *content = row
    return name, reason, content[0] if content else ""


def _row(known: KnownFile, now_ns: int) -> list[object]:
    mtime_ns = known.mtime_ns if now_ns - known.mtime_ns > _RACY_NS else 0
    problems = [list(each) for each in known.problems]
    more = [known.etag, known.is_kept] if known.is_kept else [known.etag] if known.etag else []
    return [known.size, mtime_ns, known.digest, list(known.doc_ids), problems, *more]


def load_state(tree: FileTree, url: str, graph: str) -> SyncState:
    """Return the state of this tree for this graph; an empty one if there is none that can be read."""
    return read_state(tree.state_file(state_key(url, graph)))


def state_key(url: str, graph: str) -> str:
    """Return what identifies a graph of a service in the names of records."""
    return blake2b(json.dumps([url, graph]).encode(), digest_size=6).hexdigest()


def read_state(path: Path) -> SyncState:
    """Return the state in a file; an empty one if there is none that can be read."""
    state = SyncState(path)
    try:
        body = json.loads(state.path.read_text())
        files = {
            str(file): KnownFile(int(size), int(mtime), str(digest), tuple(ids), tuple(map(_problem, problems)), *etag)
            for file, (size, mtime, digest, ids, problems, *etag) in body["files"].items()
        }
        documents = {str(doc_id): str(digest) for doc_id, digest in body["documents"].items()}
        witness = (str(body["witness"][0]), int(body["witness"][1])) if body.get("witness") else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError, RecursionError):
        return state
    state.documents, state.witness = documents, witness
    state.files = files if body.get("reader") == READER_VERSION else {}
    state.doubt_announced()
    return state
