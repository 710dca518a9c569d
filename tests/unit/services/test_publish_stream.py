"""Documents of a stream over gRPC: the reasons of rejections are bounded."""

from __future__ import annotations

import pytest

from graphtide.services.api.grpc import batching
from graphtide.services.api.grpc.batching import PublishBatches
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import Invalid
from tests.support.application import InMemoryApplication


async def test_stream_of_wrong_documents_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory for their reasons would grow as long as a client sends; the error names the field, and the count."""
    monkeypatch.setattr(batching, "MAX_REJECTED", 3)
    batches, wrong = PublishBatches(InMemoryApplication(), RequestLimits()), pb.PublishRequest(graph="g", id="a")
    for _ in range(3):
        await batches.add(wrong)
    with pytest.raises(Invalid, match="so are 3 other documents") as refused:
        await batches.add(wrong)
    assert refused.value.field == "text"
    assert len(batches.summary().rejected) <= 4
