"""Purging a data folder: canaries of deleted documents are in no byte of any file afterwards; all else is kept."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import numpy as np
import pytest
from pydantic import SecretStr

from graphtide.graph.records import DocumentInfo, Vector
from graphtide.infra.settings import Settings
from graphtide.services.application import LetterQuery, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact, decode_extraction, document_key
from graphtide.streams.ports import Record, RevisionState
from tests.support.canaries import Canary, canary, traces
from tests.support.llm_server import LlmServer
from tests.support.stages import eventually

GRAPH = "canaries"
KINDS = ("text", "title", "source", "metadata", "name", "description", "predicate", "fact description", "edited text")


def _canaries(seed: int, doc: int) -> dict[str, Canary]:
    rng = Random(seed * 1000 + doc)
    return {kind: canary(rng, kind) for kind in KINDS}


def _document(doc_id: str, canaries: Mapping[str, Canary], edited: bool = False, given: bool = True) -> DocumentMessage:
    """Return a document with a canary in every field; without `given` a model reads the names out of its text."""
    name, text = canaries["name"].word, canaries["edited text" if edited else "text"].word
    info = DocumentInfo(
        canaries["title"].word, canaries["source"].word, "2024-05", (("m", json.dumps(canaries["metadata"].word)),)
    )
    body = f"{name} met Maria Rossi in Lisbon about {text}. {name} founded {text} Institute in 1961."
    if not given:
        return DocumentMessage(GRAPH, doc_id, body, info)
    fact = GivenFact(name, canaries["predicate"].word, "Maria Rossi", canaries["fact description"].word)
    return DocumentMessage(
        GRAPH, doc_id, body, info, (GivenEntity(name, "person", canaries["description"].word),), (fact,)
    )


def _plain(doc_id: str) -> DocumentMessage:
    text = f"Maria Rossi lives in Lisbon. Maria Rossi met Tor Ruud. Document {doc_id} stays."
    return DocumentMessage(GRAPH, doc_id, text, DocumentInfo("Kept"))


@asynccontextmanager
async def _application(folder: Path, server: LlmServer | None) -> AsyncIterator[LocalApplication]:
    named = {} if server is None else {"llm_base_url": server.base_url, "llm_model": "m", "llm_api_key": SecretStr("k")}
    async with open_application(Settings(data=folder, **named)) as application:  # type: ignore[arg-type]
        assert isinstance(application, LocalApplication)
        yield application


async def _has_reports(application: LocalApplication) -> bool:
    return bool(await application._runtime.store.reports(GRAPH))


async def _settled(application: LocalApplication, token: str) -> None:
    await application.query(GRAPH, QueryRequest("Who met Maria Rossi?", after=token, generate=False, timeout_s=120))


async def _vectors(application: LocalApplication, doc_id: str) -> list[Vector]:
    store = application._runtime.store
    standing = (await store.standings(GRAPH, [doc_id]))[doc_id]
    assert standing.extraction is not None
    extraction = decode_extraction(standing.extraction).extraction
    assert extraction is not None
    found: list[Vector] = []
    for unit in extraction.units:
        found += [unit.vector, *(one.vector for one in unit.mentions), *(one.vector for one in unit.facts)]
    return [row for row in found if np.count_nonzero(row) > 8]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("model", [False, True])
async def test_purge_leaves_no_byte_of_deleted_documents(tmp_path: Path, seed: int, model: bool) -> None:
    """This covers texts, names, metadata and vectors; in pages, log, caches, indexes, reports and dead letters."""
    print("seed", seed)
    folder, canaries = tmp_path / "data", {f"d{n}": _canaries(seed, n) for n in range(6)}
    every = [one for names in canaries.values() for one in names.values()]
    with LlmServer() as server:
        async with _application(folder, server if model else None) as application:
            await application.publish([_plain(f"kept-{n}") for n in range(8)])
            await application.publish([_document(f"d{n}", canaries[f"d{n}"], given=n % 2 == 0) for n in range(6)])
            edited = [_document(f"d{n}", canaries[f"d{n}"], edited=True, given=n % 2 == 0) for n in range(6)]
            await _settled(application, (await application.publish(edited)).token)
            ledger = application._runtime.ledger
            broken = canaries["d0"]["text"].word.encode() + b" is no JSON"
            await ledger.accept([Record(document_key(GRAPH, "d0"), broken)])
            vectors = {doc_id: await _vectors(application, doc_id) for doc_id in canaries}
            kept = {"kept-0": await _vectors(application, "kept-0")}
            for names in canaries.values():
                await application.query(
                    GRAPH, QueryRequest(f"Who is {names['name'].word}?", generate=model, timeout_s=120)
                )
            await application._runtime.views.save()
            if model:
                await eventually(lambda: _has_reports(application))
            assert traces(folder, every, vectors), "the test would find nothing if nothing was ever there"
            tokens = [(await application.delete(GRAPH, doc_id)).token for doc_id in canaries]
            await _settled(application, tokens[-1])
            before = await application.digest(GRAPH)
            purged = await application.purge()
            assert traces(folder, every, vectors) == []
            assert traces(folder, [], kept), "what is live stays"
            assert purged.removed["dead_letters"] == 1 and purged.removed["indexes"] == 1
            assert (await application.dead_letters(GRAPH, LetterQuery(resolved=True))).letters == ()
            assert await application.digest(GRAPH) == before
            assert (await application.verify(GRAPH)).differences == ()
            status = await application.document(GRAPH, "d1")
            assert (status.state, status.text, status.reason) == (RevisionState.DELETED, "", "")
        assert traces(folder, every, vectors) == []
        async with _application(folder, server if model else None) as application:
            assert await application.digest(GRAPH) == before
            again = await application.publish([_document("d1", canaries["d1"])])
            await _settled(application, again.token)
            assert (await application.document(GRAPH, "d1")).state is RevisionState.APPLIED
            assert traces(folder, [canaries["d1"]["text"]], {}), "a document that is published again is there again"
