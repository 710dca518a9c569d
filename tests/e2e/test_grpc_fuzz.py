"""Every call of gRPC with generated requests, right and wrong: each ends with a status that a caller can act on.

Calls and fields come from the protocol's descriptors, so a new one is tested at once. The seed is printed;
GRAPHTIDE_FUZZ_EXAMPLES sets a higher number of requests for each call.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf.descriptor import MethodDescriptor
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.schema import graphtide_pb2 as pb
from tests.support.processes import Service, service
from tests.support.protobuf_requests import requests

CALLS = list(pb.DESCRIPTOR.services_by_name["Graphtide"].methods)
SEED = int(os.environ.get("GRAPHTIDE_FUZZ_SEED", random.randrange(1 << 32)))
EXAMPLES = int(os.environ.get("GRAPHTIDE_FUZZ_EXAMPLES", "30"))
ENDLESS = {"FollowChanges", "WatchQuestion"}
"""Streams that end at their deadline only, once they are admitted."""
UNUSABLE = {
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DATA_LOSS,
}
"""Statuses that report a failed service, or no cause at all."""

fuzzed = settings(
    max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Yield a service with a document, which must stop in order and log no error."""
    folder: Path = tmp_path_factory.mktemp("fuzz")
    log = folder / "log"
    with service(folder / "data", {"GRAPHTIDE_QUERY_TIMEOUT_S": "2"}, log) as started:
        with grpc.insecure_channel(started.grpc) as channel:
            publish = channel.unary_unary(f"/{SERVICE}/Publish", None, None)
            publish(
                pb.PublishRequest(
                    graph="notes", id="curie", text="Marie Curie discovered polonium."
                ).SerializeToString()
            )
        yield started
        assert started.stop() == 0
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def channel(running: Service) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(running.grpc) as channel:
        yield channel


def status(channel: grpc.Channel, method: MethodDescriptor, messages: list[bytes]) -> grpc.StatusCode:
    """Return the status of the call with these messages. A call with one message takes the first."""
    path = f"/{SERVICE}/{method.name}"
    stream_s = 1 if method.name in ENDLESS else 60
    try:
        if method.client_streaming:
            channel.stream_unary(path, None, None)(iter(messages), timeout=60)
        elif method.server_streaming:
            list(channel.unary_stream(path, None, None)(messages[0], timeout=stream_s))
        else:
            channel.unary_unary(path, None, None)(messages[0], timeout=60)
    except grpc.RpcError as error:
        assert isinstance(error, grpc.Call)
        return error.code()
    return grpc.StatusCode.OK


@pytest.mark.parametrize("method", CALLS, ids=lambda method: str(method.name))
def test_call_ends_with_a_usable_status_whatever_is_asked(
    running: Service, channel: grpc.Channel, method: MethodDescriptor
) -> None:
    """Messages of the call's type are sent alone and in streams; the process continues."""
    print(f"seed {SEED}")

    @seed(SEED)
    @fuzzed
    @given(st.lists(requests(method.input_type), min_size=1, max_size=4))
    def ask(messages: list[object]) -> None:
        ended = status(channel, method, [message.SerializeToString() for message in messages])  # type: ignore[attr-defined]
        assert ended not in UNUSABLE, (ended, messages)

    ask()
    assert running.process.poll() is None


@pytest.mark.parametrize("method", CALLS, ids=lambda method: str(method.name))
def test_call_ends_with_a_usable_status_when_its_bytes_are_damaged(
    running: Service, channel: grpc.Channel, method: MethodDescriptor
) -> None:
    """The bytes are random, or those of a message of the type with some of them changed."""
    print(f"seed {SEED}")

    def damaged(body: bytes, at: int, put: bytes) -> bytes:
        place = at % (len(body) + 1)
        return body[:place] + put + body[place + len(put) :]

    whole = requests(method.input_type).map(lambda message: message.SerializeToString())
    changed = st.builds(damaged, whole, st.integers(0, 1000), st.binary(max_size=4))

    @seed(SEED)
    @fuzzed
    @given(st.lists(st.binary(max_size=60) | changed, min_size=1, max_size=3))
    def ask(messages: list[bytes]) -> None:
        ended = status(channel, method, messages)
        assert ended not in UNUSABLE, (ended, messages)

    ask()
    assert running.process.poll() is None
