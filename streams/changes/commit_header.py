"""The header of a notice in `deltas` that names the revisions which the commit includes, and the time of the commit.

Replicas read it from the notice while they follow and when they read the history, so that all of them report the same
commit alike. Notices of releases before this header have none: such a commit is not part of the history.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.streams.changes.changed_document import ChangedDocument
from graphtide.streams.clock import now_ms
from graphtide.streams.ports import RevisionOutcome
from graphtide.streams.tracing import Headers

COMMIT = "commit"
MAX_DECODED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class CommitOrigin:
    """When a version was committed (milliseconds since the epoch), and the final states of its revisions."""

    committed_ms: int
    documents: tuple[ChangedDocument, ...] = ()


def commit_header(graph: str, outcomes: Sequence[RevisionOutcome]) -> Headers:
    """Return the header of a commit that is made now."""
    documents = [(each.doc_id, each.revision, each.state) for each in outcomes if each.graph == graph]
    body = json.dumps([now_ms(), documents], ensure_ascii=False, separators=(",", ":"))
    return ((COMMIT, zlib.compress(body.encode(), 1)),)


def commit_origin(headers: Headers) -> CommitOrigin | None:
    """Return the content of the header; None without a well-formed one: any producer may write to a topic."""
    found = dict(headers).get(COMMIT)
    if found is None:
        return None
    try:
        committed_ms, documents = json.loads(zlib.decompressobj().decompress(found, MAX_DECODED_BYTES))
        listed = tuple(ChangedDocument(str(id_), int(revision), str(state)) for id_, revision, state in documents)
        for each in listed:
            (each.id + each.state).encode()  # a lone surrogate has no UTF-8 form: UnicodeEncodeError is a ValueError
        return CommitOrigin(int(committed_ms), listed)
    except (ValueError, TypeError, ArithmeticError, RecursionError, zlib.error):
        return None
