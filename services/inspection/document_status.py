"""The status of a document: its state, the reason why it waits, its content in the graph, its cost."""

from __future__ import annotations

import json

from graphtide.graph.consolidation.signed_counts import occurrence_index
from graphtide.graph.identity import chunk_id
from graphtide.graph.records import ChunkContribution, Extraction
from graphtide.graph.validity.intervals import ValidityReader
from graphtide.graph.view import LiveView
from graphtide.services.api.schema.disclosure import for_caller
from graphtide.services.application import DocumentStatus, StatedFact, Usage
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.follow.progress import token
from graphtide.streams.messages import decode_stored
from graphtide.streams.ports import LedgerEntry, RevisionState, StoredDocument


def document_status(
    latest: LedgerEntry,
    standing: StoredDocument | None,
    view: LiveView | None,
    waiting: str,
    used: Usage,
    progress: DocumentProgress | None = None,
    *,
    timeout_s: float | None = None,
) -> DocumentStatus:
    """Return the status of the newest revision, with the content of the live one, which may be older.

    `waiting` is the reason why an accepted revision waits, "" if it waits only for earlier work. `standing` may lack
    its vectors. Raises LockBusyError if the view is being changed for longer than `timeout_s`. Cost: the document's own
    facts.
    """
    stored = standing.extraction if standing else None
    live = decode_stored(latest.graph, latest.doc_id, stored, statements=False) if stored else None
    facts = _shown(view, live, timeout_s) if view and live else None
    if stored and facts is None:
        facts = _extracted(decode_stored(latest.graph, latest.doc_id, stored, vectors=False))
    return DocumentStatus(
        latest.graph,
        latest.doc_id,
        latest.state,
        latest.revision,
        for_caller(latest.reason or waiting),
        token([latest.position]),
        live.revision if live else None,
        live.info.title if live else "",
        live.info.source if live else "",
        live.info.occurred_at if live else "",
        {name: json.loads(value) for name, value in live.info.metadata} if live else {},
        live.text if live else "",
        tuple(facts or ()),
        used,
        live.media_type if live else "",
        progress,
    )


def arriving_status(
    latest: LedgerEntry, waiting: str, used: Usage, progress: DocumentProgress | None
) -> DocumentStatus:
    """Return the status of a committed revision that the view is about to show. It has no content: the stored document
    is the new one, and readers still see the old one.
    """
    reason, ends_at = for_caller(waiting), token([latest.position])
    head = (latest.graph, latest.doc_id, RevisionState.ACCEPTED, latest.revision, reason, ends_at)
    return DocumentStatus(*head, None, "", "", "", {}, "", (), used, progress=progress)


def _shown(view: LiveView, live: Extraction, timeout_s: float | None) -> list[StatedFact] | None:
    """Return the facts of a document with the names of its entities; None until the view contains them."""
    with view.lock.read(timeout_s):
        row = view.documents.get(live.doc_id)
        if row is None or row.revision != live.revision:
            return None
        return [fact for chunk in row.chunks for fact in _chunk_facts(view, chunk)]


def _extracted(live: Extraction | None) -> list[StatedFact]:
    """Return the facts of a document as extracted."""
    if live is None:
        return []
    return [
        fact
        for unit, repeat in zip(live.units, occurrence_index(live), strict=True)
        for fact in _unit_facts(live, unit, repeat)
    ]


def _unit_facts(live: Extraction, unit: ChunkContribution, repeat: int) -> list[StatedFact]:
    name = chunk_id(live.doc_id, unit.text, repeat)
    return [
        StatedFact(
            unit.mentions[fact.subject].name,
            fact.predicate,
            unit.mentions[fact.object].name,
            fact.description,
            fact.weight_milli / 1000,
            fact.sentence,
            name,
            fact.valid_from,
            fact.valid_to,
        )
        for fact in unit.facts
    ]


def _chunk_facts(view: LiveView, chunk: int) -> list[StatedFact]:
    passage = view.chunks[chunk]
    validity = ValidityReader(view)
    facts = []
    for shown in passage.evidence:
        subject, object_ = view.ends(shown.statement)
        times = validity.of_support(shown)
        facts.append(
            StatedFact(
                view.entities[subject].name,
                view.statements[shown.statement].predicate,
                view.entities[object_].name,
                shown.description,
                shown.weight_milli / 1000,
                shown.sentence,
                passage.chunk_id,
                times.valid_from,
                times.valid_to,
                times.ended_by[0] if times.ended_by else "",
                times.superseding_value,
            )
        )
    return facts
