"""Standing questions that several processes share: views that evaluate, registrations of other processes, the topic.

A process that evaluates uses `EvaluatedViews` instead of plain views. Several may evaluate the same graphs: the store
keeps the first result of each version, and the results are equal, so the death of any of them loses nothing.
"""

from __future__ import annotations

import asyncio

from graphtide.graph.records import GraphDelta
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.json_parts import dump
from graphtide.streams.messages import ANSWERS
from graphtide.streams.ports import Log, Record
from graphtide.streams.standing.records import QuestionEvent, encode_evidence
from graphtide.streams.standing.stage import StandingStage
from graphtide.streams.standing.store import SharedQuestionStore
from graphtide.streams.tracing import Headers

POLL_S = 0.3
PROGRESS_S = 1.0
BATCH = 100
SCHEMA = 1


class EvaluatedViews(ViewRegistry):
    """Views whose questions are evaluated at each version, before the next one is applied."""

    stage: StandingStage | None = None

    async def follow(self, delta: GraphDelta, headers: Headers = ()) -> None:
        """See ViewRegistry.follow."""
        if self.stage is not None and self.get(delta.graph) is not None:
            await self.stage.load(delta.graph)
        await super().follow(delta, headers)
        if self.stage is not None:
            await self.stage.committed(delta)


async def follow_registrations(store: SharedQuestionStore, stage: StandingStage, poll_s: float = POLL_S) -> None:
    """Evaluate the questions that other processes register, until cancelled. Cost of a look: the number of graphs."""
    known: dict[str, int] = {}
    while True:
        for graph, revision in (await store.revisions()).items():
            if known.get(graph) != revision and await stage.refresh(graph):
                known[graph] = revision
        await asyncio.sleep(poll_s)


async def note_progress(store: SharedQuestionStore, stage: StandingStage, poll_s: float = PROGRESS_S) -> None:
    """Store the versions up to which this process has evaluated the questions of its graphs, until cancelled.

    A worker that starts continues there. A version that was evaluated after the last look is evaluated again.
    """
    noted: dict[str, int] = {}
    while True:
        versions = {graph: stage.version(graph) for graph, count in stage.counts().items() if count}
        news = {graph: version for graph, version in versions.items() if version and noted.get(graph) != version}
        if news:
            await store.note_evaluated(news)
            noted |= news
        await asyncio.sleep(poll_s)


async def relay_events(store: SharedQuestionStore, log: Log, poll_s: float = POLL_S) -> None:
    """Append events to the topic `answers` until cancelled, and mark them.

    A process that dies between the two appends its events again; `seq` tells a reader which it has.
    """
    while True:
        while events := await store.unsent(BATCH):
            await log.append(ANSWERS, [answer_record(graph, event) for graph, event in events])
            await store.sent(events)
        await asyncio.sleep(poll_s)


def answer_record(graph: str, event: QuestionEvent) -> Record:
    """Return the record of an event: passages are named, without their text."""
    passages = {"entered": event.entered, "left": event.left, "passages": event.passages}
    body: dict[str, object] = {
        "schema": SCHEMA,
        "graph": graph,
        "id": event.question_id,
        "seq": event.seq,
        "version": event.version,
        "token": event.token,
        "occurred_ms": event.occurred_ms,
        "causes": [{"doc_id": cause.doc_id, "revision": cause.revision} for cause in event.causes],
        "answer": event.answer,
    }
    names = ("doc_id", "chunk_id", "score")
    body |= {
        name: [dict(zip(names, row, strict=True)) for row in encode_evidence(evidence)]
        for name, evidence in passages.items()
    }
    return Record(f"{graph}|{event.question_id}", dump(body))
