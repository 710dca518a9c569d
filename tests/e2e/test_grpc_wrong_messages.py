"""Messages of many wrong items over gRPC: refused at low memory, while the service answers other requests."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest

from graphtide.services.api.schema import graphtide_pb2 as pb
from tests.e2e.test_http_wrong_bodies import MAX_GROWTH_BYTES
from tests.support.processes import Service, resources_of, service

MANY = 2_000_000
FACTS, ENTITIES, METADATA, FILTERS = 9, 8, 7, 6
EMPTY, VALUE = b"\x0a\x00", b"\x0a\x02\x08\x00"


def nested(number: int, content: bytes) -> bytes:
    """Return a field of bytes on the wire."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


DOCUMENT = pb.PublishRequest(graph="g", id="a", text="a").SerializeToString()
QUESTION = pb.QueryRequest(graph="g", question="a").SerializeToString()
LISTED = b'{"schema":1,"text":"a","facts":[' + b",".join([b"{}"] * 2_500_000) + b"]}"
WRONG = {
    "facts": ("Publish", DOCUMENT + nested(FACTS, EMPTY * MANY)),
    "entities": ("Publish", DOCUMENT + nested(ENTITIES, EMPTY * MANY)),
    "facts in pieces": ("Publish", DOCUMENT + nested(FACTS, EMPTY) * MANY),
    "metadata": (
        "Publish",
        DOCUMENT + nested(METADATA, nested(1, nested(1, b"a") + nested(2, nested(6, VALUE * MANY)))),
    ),
    "facts in a stream": ("PublishStream", DOCUMENT + nested(FACTS, EMPTY * MANY)),
    "a record": ("PublishAll", pb.DocumentRecord(graph="g", id="a", document=LISTED).SerializeToString()),
    "filters": ("Query", QUESTION + nested(FILTERS, EMPTY * MANY)),
    "filters of a stream": ("QueryStream", QUESTION + nested(FILTERS, EMPTY * MANY)),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield one service for all messages: memory that one retains counts for the next."""
    with service(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.mark.parametrize("name", WRONG)
def test_wrong_message_is_refused_for_little_memory(name: str, running: Service) -> None:
    """The peak of the process stays within twice the largest body; the error is the caller's."""
    method, message = WRONG[name]
    with grpc.insecure_channel(running.grpc) as channel, pytest.raises(grpc.RpcError) as refused:
        call = channel.stream_stream(f"/graphtide.v1.Graphtide/{method}")
        list(call(iter([message]), timeout=120))
    assert refused.value.code() in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE)
    now = resources_of(running.process.pid)
    assert now is not None
    assert running.begun is not None
    assert now.peak_bytes - running.begun.peak_bytes < MAX_GROWTH_BYTES
