"""The progress of a large document in its status, and its form in HTTP and gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphtide
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.services.api.grpc.conversion import message_of
from graphtide.services.api.grpc.decoding import value_of
from graphtide.services.api.http.documentation.response_models import DocumentStatusBody
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.shapes import fields_json
from graphtide.services.application import DocumentStatus
from graphtide.streams.document_progress import DocumentProgress
from graphtide.streams.extract.pipeline import SLICE_PASSAGES

TEXT = "\n\n".join(f"The engine {n} belongs to the museum. " * 40 for n in range(2 * SLICE_PASSAGES))


async def test_status_shows_the_progress_of_a_large_document_until_it_is_applied(tmp_path: Path) -> None:
    """The embedder stops before the second slice: the first one is embedded, the second one extracted."""
    hashing, stopped, released, calls = HashingEmbedder(16), asyncio.Event(), asyncio.Event(), list[int]()

    async def embedder(texts: Sequence[str]) -> NDArray[np.float32]:
        calls.append(len(texts))
        if len(calls) == 2:
            stopped.set()
            await released.wait()
        return await hashing.embed(texts)

    async with graphtide.open(tmp_path / "data", embedder=embedder) as db:
        graph = db.graph("g")
        receipt = await graph.add("large", TEXT)
        await stopped.wait()
        status = await graph.document("large")
        progress = status.progress
        released.set()
        await graph.ask("Which museum?", after=receipt.token)
        ended = await graph.document("large")
    assert isinstance(progress, DocumentProgress) and progress.passages > SLICE_PASSAGES
    assert progress == DocumentProgress("extract", progress.passages, 2 * SLICE_PASSAGES, SLICE_PASSAGES)
    body = fields_json(status)
    assert DocumentStatusBody.model_validate(body).model_dump()["progress"] == body["progress"]
    assert value_of(DocumentStatus, message_of(pb.DocumentStatus, body)).progress == progress
    assert (ended.state, ended.progress) == ("applied", None)
    assert value_of(DocumentStatus, message_of(pb.DocumentStatus, fields_json(ended))).progress is None
