"""Purging a cluster: no property of the graph database holds a canary afterwards, and remaining records are counted."""

from __future__ import annotations

import asyncio
import json
from random import Random

from neo4j import GraphDatabase

from graphtide.graph.digest import digest
from graphtide.graph.records import DocumentInfo
from graphtide.infra.bolt import BoltAddress, BoltBackend
from graphtide.infra.bolt.cypher import documents as cypher
from graphtide.infra.bolt.graph_store.values import verdict_rows
from graphtide.infra.models.cache.embeddings import MemoisedEmbedder
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.services.cluster.purging import NEVER, purge_graphs, purge_reasons, topic_traces
from graphtide.streams.clock import now_ms
from graphtide.streams.consolidate.stage import ConsolidateSettings, ConsolidateStage
from graphtide.streams.extract.pipeline import ExtractionModels
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.messages import DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS, DocumentMessage, document_key
from graphtide.streams.ports import Record, ReportRow
from tests.model.memory import MemoryLog
from tests.support.backends import BoltParts
from tests.support.canaries import Canary, canary
from tests.support.neo4j_server import GraphServer, clear
from tests.support.stages import Seen, running

GRAPH = "canaries"


class _Untrimmed(MemoryLog):
    """A log that keeps consumed records, as Kafka does until retention ends."""

    async def trim(self, topic: str, before: object) -> None:
        """Trim nothing."""


def _record(doc_id: str, canaries: dict[str, Canary]) -> Record:
    text = f"{canaries['name'].word} met Maria Rossi in Lisbon. {canaries['text'].word} was there."
    one = DocumentMessage(GRAPH, doc_id, text, DocumentInfo(canaries["title"].word))
    return Record(one.key, one.encode())


def _everything(address: BoltAddress) -> str:
    """Return every property of every node and relationship, as JSON."""
    with GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver, driver.session() as one:
        nodes = [row["p"] for row in one.run("MATCH (n) RETURN properties(n) AS p")]
        ties = [row["p"] for row in one.run("MATCH ()-[r]->() RETURN properties(r) AS p")]
    return json.dumps(nodes + ties, ensure_ascii=False).casefold()


async def test_purge_of_a_cluster_leaves_no_property_of_deleted_documents(graph_server: GraphServer) -> None:
    """This covers rows, caches, verdicts, reports and reasons; records left to the topics' retention are counted."""
    address, rng = graph_server.address, Random(7)
    canaries = {kind: canary(rng, kind) for kind in ("name", "text", "title", "verdict", "report")}
    clear(address)
    log = _Untrimmed(1, now_ms)
    backend = await BoltBackend.open(address, log)
    parts = BoltParts(backend, log)
    models = ExtractionModels(
        SemanticChunker(), OfflineExtractor(), MemoisedEmbedder(HashingEmbedder(), backend.vectors("embeddings"))
    )
    consolidate = ConsolidateStage(log, parts.store, _ignore, Seen(), ConsolidateSettings(outbox=parts.store.outbox))
    extract = ExtractStage(log, parts.ledger, models, Seen())
    kept = DocumentMessage(GRAPH, "kept", "Maria Rossi lives in Lisbon.")
    try:
        async with running(extract.run), running(consolidate.run):
            broken = Record(document_key(GRAPH, "gone"), canaries["text"].word.encode())
            await parts.ledger.accept([Record(kept.key, kept.encode()), broken, _record("gone", canaries)])
            await _settled(parts)
            names = (canaries["verdict"].word, "person"), ("maria rossi", "person")
            await _commit_verdict(parts, names)
            report = ReportRow(1, 0, "none", 1, canaries["report"].word, canaries["report"].word, ())
            await parts.store.save_reports(GRAPH, [report], ())
            content = _everything(address)
            assert all(one.word.casefold() in content for one in canaries.values()), "nothing would be found anyway"
            await parts.ledger.accept([Record(document_key(GRAPH, "gone"), None)])
            await _settled(parts)
        before = digest(await parts.store.snapshot(GRAPH))
        removed = await purge_graphs(backend)
        assert await purge_reasons(backend, log) == 1
        assert removed["verdicts"] == 1 and removed["reports"] == 1 and removed["memo_entries"] > 0
        content = _everything(address)
        assert [one.kind for one in canaries.values() if one.word.casefold() in content] == []
        assert "maria rossi" in content and digest(await parts.store.snapshot(GRAPH)) == before
        traces = await topic_traces(parts.store, log)
        assert {topic: bool(one.records) for topic, one in traces.items()} == dict.fromkeys(
            (DOCUMENTS, EXTRACTIONS, DEAD_LETTERS, DELTAS), True
        )
        assert traces[DEAD_LETTERS].gone_by == NEVER and traces[DOCUMENTS].gone_by.endswith("+00:00")
    finally:
        await backend.close()
        clear(address)


async def _ignore(_: object) -> None:
    """Return the followers: none."""


async def _settled(parts: BoltParts) -> None:
    async with asyncio.timeout(300):
        while await parts.ledger.pending(GRAPH):  # noqa: ASYNC110 -- storage sets no event
            await asyncio.sleep(0.02)


async def _commit_verdict(parts: BoltParts, pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    rows = verdict_rows(GRAPH, {pair: False})
    await parts.store._database.write(lambda tx: tx.each(cypher.PUT_VERDICTS, rows, graph=GRAPH))
