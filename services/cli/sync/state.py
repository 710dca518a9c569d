"""The record of the last run of `sync`: files by size, time, etag and hash, documents by digest.

The file may be lost or stale at any time: it saves work and is never the only record. Invariants: it is replaced in one
step, and it lists a document only after the service has accepted it.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from graphtide.infra.files.reader import READER_VERSION
from graphtide.services.cli.sync.tree import FileTree, FoundFile

_RACY_NS = 2_000_000_000
"""A file that changed so shortly before it was read may change again within the clock's resolution."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as it was read; `doc_ids` are its documents, `problems` the reasons why it, or records, were skipped."""

    size: int
    mtime_ns: int
    digest: str
    doc_ids: tuple[str, ...]
    problems: tuple[tuple[str, str], ...] = ()
    etag: str = ""


@dataclass(slots=True)
class SyncState:
    """Files by name, and the digests of accepted documents by id."""

    path: Path
    files: dict[str, KnownFile] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)

    def unchanged(self, file: FoundFile) -> KnownFile | None:
        """Return the file as it is known, if its size and its etag, or without one its time, are the same."""
        known = self.files.get(file.name)
        if known is None or (known.size, known.etag) != (file.size, file.etag):
            return None
        return known if file.etag or (file.mtime_ns and known.mtime_ns == file.mtime_ns) else None

    def save(self) -> None:
        """Replace the file. Raises OSError."""
        now = time.time_ns()
        files = {name: _row(known, now) for name, known in self.files.items()}
        body = {"reader": READER_VERSION, "files": files, "documents": self.documents}
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".new")
        temporary.write_text(json.dumps(body))
        temporary.replace(self.path)


def _row(known: KnownFile, now_ns: int) -> list[object]:
    mtime_ns = known.mtime_ns if now_ns - known.mtime_ns > _RACY_NS else 0
    problems = [list(each) for each in known.problems]
    return [known.size, mtime_ns, known.digest, list(known.doc_ids), problems, *([known.etag] if known.etag else [])]


def load_state(tree: FileTree, url: str, graph: str) -> SyncState:
    """Return the state of this tree for this graph; an empty one if there is none that can be read."""
    name = blake2b(json.dumps([url, graph]).encode(), digest_size=6).hexdigest()
    return read_state(tree.state_file(name))


def read_state(path: Path) -> SyncState:
    """Return the state in a file; an empty one if there is none that can be read."""
    state = SyncState(path)
    try:
        body = json.loads(state.path.read_text())
        files = {
            str(file): KnownFile(
                int(size), int(mtime), str(digest), tuple(ids), tuple((a, b) for a, b in problems), *etag
            )
            for file, (size, mtime, digest, ids, problems, *etag) in body["files"].items()
        }
        documents = {str(doc_id): str(digest) for doc_id, digest in body["documents"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return state
    state.documents = documents
    state.files = files if body.get("reader") == READER_VERSION else {}
    return state
