"""Embedders beyond the contract: similarity of the hashing one, failures of endpoints, the cache."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from graphtide.infra.models.cache.embeddings import MemoisedEmbedder, MemoryVectorStore
from graphtide.infra.models.limits.rate_limiter import EndpointLimits
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.infra.models.openai.retry_after import MAX_WAIT_S, retry_after_s
from graphtide.streams.errors import Broken, Rejected, Retryable
from tests.support import openai_server as fake
from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.openai_server import OpenAIServer, vector_of

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A real endpoint on loopback."""
    with OpenAIServer() as running:
        yield running


@pytest.fixture
async def embedder(server: OpenAIServer) -> AsyncIterator[OpenAIEmbedder]:
    """Return a client of it, with small batches and a short timeout."""
    settings = EmbeddingEndpoint(
        server.base_url, "test-model", KEY, batch_texts=2, limits=EndpointLimits(concurrent_calls=3)
    )
    client = OpenAIEmbedder(settings)
    yield client
    await client.close()


# hashing


async def test_hashing_embedder_finds_texts_alike_that_share_words() -> None:
    """Shared words and parts of words make texts similar; word order and case matter little."""
    rows = await HashingEmbedder().embed(
        [
            "The drill reached the lake.",
            "Drilling reached a lake below.",
            "Penguins eat krill.",
            "the LAKE the drill reached",
        ]
    )
    near, far, same = rows[0] @ rows[1], rows[0] @ rows[2], rows[0] @ rows[3]
    assert near > far + 0.2
    assert same > 0.8
    assert abs(far) < 0.25


def test_hashing_embedder_gives_the_same_bits_in_another_process() -> None:
    """Vectors are part of digests, so they depend on neither the process nor its hash seed."""
    text = "Ange\u0301la and the drill \U0001f9ca"
    code = (
        "import asyncio; from graphtide.infra.models.local.hashing_embedder import HashingEmbedder as H; "
        f"print(asyncio.run(H().embed([{text!r}])).tobytes().hex())"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "77"}
    )
    assert asyncio.run(HashingEmbedder().embed([text])).tobytes().hex() == elsewhere.stdout.strip()


def test_hashing_embedder_refuses_too_few_dimensions() -> None:
    """Fewer than eight dimensions would make all texts similar."""
    with pytest.raises(ValueError, match="at least 8"):
        HashingEmbedder(4)


# an endpoint that works


async def test_openai_embedder_keeps_the_order_when_batched(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    """Seven texts in batches of two come back in order, each of unit length, in the endpoint's directions."""
    texts = [f"text {number}" for number in range(7)]
    rows = await embedder.embed(texts)
    assert sorted(len(seen.texts) for seen in server.seen) == [1, 2, 2, 2]
    for row, text in zip(rows, texts, strict=True):
        raw = vector_of(text)
        assert np.allclose(row, raw / np.linalg.norm(raw), atol=1e-6)


async def test_openai_embedder_asks_for_base64_with_key_and_model(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    """The request contains the settings, and asks for base64, which costs a tenth of the CPU time of lists."""
    await embedder.embed(["x"])
    seen = server.seen[0]
    assert (seen.body["encoding_format"], seen.body["model"]) == ("base64", "test-model")
    assert seen.headers["authorization"] == f"Bearer {KEY}"


async def test_openai_embedder_bounds_the_calls_at_once(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    """At most three of nine batches are in flight: while they wait, the fourth is not sent."""
    server.hold = threading.Event()
    call = asyncio.ensure_future(embedder.embed([f"text {number}" for number in range(18)]))
    for _ in range(3):
        await asyncio.to_thread(server.arrived.get)
    with OpenAIServer() as other:  # whole round trips through this event loop: enough time for a fourth to arrive
        witness = OpenAIEmbedder(EmbeddingEndpoint(other.base_url, "m"))
        for _ in range(5):
            await witness.embed(["x"])
        await witness.close()
    assert server.max_concurrent == 3
    server.hold.set()
    await call
    assert server.max_concurrent == 3


async def test_openai_embedder_splits_batches_by_characters(server: OpenAIServer) -> None:
    """Long texts go in smaller batches, a text longer than the limit alone."""
    client = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m", batch_chars=100))
    await client.embed(["a" * 60, "b" * 60, "c" * 500, "d", "e"])
    await client.close()
    assert sorted(len(seen.texts) for seen in server.seen) == [1, 1, 1, 2]


async def test_openai_embedder_asks_nothing_when_there_are_no_texts(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    """An empty list of texts costs no call."""
    assert (await embedder.embed([])).shape == (0, 0)
    assert not server.seen


async def test_openai_embedder_learns_the_dimension_once(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    """A probe finds the dimension; a second one needs no call."""
    assert embedder.dimensions == 0
    assert await embedder.probe() == await embedder.probe() == embedder.dimensions == fake.DIMENSIONS
    assert len(server.seen) == 1


async def test_openai_embedder_sends_neither_empty_nor_broken_text(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    """Texts are made sendable: OpenAI refuses the empty string, and JSON cannot contain lone surrogates."""
    await embedder.embed(["", "a\ud800b"])
    assert server.seen[0].texts == [" ", "a?b"]


async def test_openai_embedder_takes_vectors_in_any_order(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    """The index assigns a vector to its text, not its place."""
    right = await embedder.embed(["one", "two"])
    server.misbehave(fake.REVERSED)
    assert np.array_equal(await embedder.embed(["one", "two"]), right)


# an endpoint that does not


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        (status(429, retry_after="2"), 2.0),
        (status(429, retry_after_ms="250"), 0.25),
        (status(429), None),
        (status(500), None),
        (status(503, retry_after="7"), 7.0),
        (status(408), None),
        (status(401, f"Incorrect API key provided: {KEY}"), 60.0),
        (status(404), 60.0),
        (DROPPED, None),
        (NOT_JSON, None),
        (fake.NO_DATA, None),
        (fake.BAD_BASE64, None),
        (fake.WRONG_COUNT, None),
        (fake.SAME_INDEX, None),
        (fake.NAN, None),
        (fake.ZERO, None),
        (fake.SHORT_VECTOR, None),
    ],
)
async def test_openai_embedder_raises_retryable_once_when_it_may_work_later(
    server: OpenAIServer, embedder: OpenAIEmbedder, fault: Fault, wait_s: float | None
) -> None:
    """A failed call is one attempt and one Retryable with the endpoint's wait; the next call works."""
    server.misbehave(fault)
    with pytest.raises(Retryable) as raised:
        await embedder.embed(["one", "two"])
    assert raised.value.retry_after_s == wait_s
    assert len(server.seen) == 1
    assert str(server.base_url) in str(raised.value)
    assert (await embedder.embed(["one", "two"])).shape == (2, fake.DIMENSIONS)


@pytest.mark.parametrize("code", [400, 413, 422])
async def test_openai_embedder_rejects_what_will_never_work(
    server: OpenAIServer, embedder: OpenAIEmbedder, code: int
) -> None:
    """The error contains the endpoint's own words, for the operator who has to shorten the text."""
    server.misbehave(status(code, "maximum context length is 8192 tokens"))
    with pytest.raises(Rejected, match="8192 tokens"):
        await embedder.embed(["one"])


async def test_openai_embedder_raises_retryable_when_nothing_listens() -> None:
    """An unreachable endpoint is Retryable, and the error names it."""
    with OpenAIServer() as gone:
        address = gone.base_url
    client = OpenAIEmbedder(EmbeddingEndpoint(address, "m"))
    with pytest.raises(Retryable, match="cannot be reached"):
        await client.embed(["x"])
    await client.close()


async def test_openai_embedder_raises_retryable_when_the_answer_is_late(server: OpenAIServer) -> None:
    """A hanging endpoint costs the timeout."""
    client = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "m", timeout_s=0.2))
    server.misbehave(SLOW)
    with pytest.raises(Retryable, match=r"did not answer within 0\.2 s"):
        await client.embed(["x"])
    await client.close()


async def test_openai_embedder_stops_when_the_dimension_changes(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    """Another dimension is Broken: another model behind the same name would corrupt every index."""
    await embedder.embed(["x"])
    server.dimensions = 32
    with pytest.raises(Broken, match="32 dimensions instead of 16"):
        await embedder.embed(["x"])


async def test_openai_embedder_gives_all_or_nothing_when_one_batch_fails(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    """One failed batch fails the call with its own error, not a group of them, and leaves no task running."""
    server.misbehave(status(500))
    with pytest.raises(Retryable):
        await embedder.embed([f"text {number}" for number in range(12)])
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_openai_embedder_never_shows_its_key(server: OpenAIServer, caplog: pytest.LogCaptureFixture) -> None:
    """The key is in no repr, name, setting, message, cause or log line, whatever the endpoint echoes or the URL
    contains.
    """
    caplog.set_level(logging.DEBUG)
    settings = EmbeddingEndpoint(server.base_url.replace("//", "//user:hunter2@"), "m", KEY)
    client = OpenAIEmbedder(settings)
    shown = [repr(client), client.name, repr(settings).replace("user:hunter2@", "")]
    for code in (400, 401, 429, 500):
        server.misbehave(status(code, f"your key {KEY} is no good"))
        with pytest.raises((Retryable, Rejected)) as raised:
            await client.embed(["x"])
        shown += [str(raised.value), repr(raised.value.__cause__)]
    await client.close()
    everything = "\n".join([*shown, caplog.text])
    assert KEY not in everything
    assert "hunter2" not in "\n".join(shown)


# the Retry-After header

_NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "999999"}, MAX_WAIT_S),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_reads_every_form(headers: Mapping[str, str], expected: float | None) -> None:
    """Seconds, milliseconds and dates are parsed; an invalid value is None, and no wait is negative or endless."""
    assert retry_after_s(headers, _NOW) == expected


# the memo


class CountingEmbedder(HashingEmbedder):
    """Embedder that records its texts; it waits at ``gate``, and fails the first ``failures`` calls."""

    def __init__(self) -> None:
        super().__init__(16)
        self.asked: list[list[str]] = []
        self.calls: asyncio.Queue[list[str]] = asyncio.Queue()
        self.gate = asyncio.Event()
        self.gate.set()
        self.failures = 0

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        self.calls.put_nowait(list(texts))
        await self.gate.wait()
        if self.failures:
            self.failures -= 1
            raise Retryable("not now")
        return await super().embed(texts)


async def test_memo_asks_only_for_missing_texts_and_each_once() -> None:
    """Duplicates in a call, and texts of earlier calls, cost nothing; the bits are those first computed."""
    inner = CountingEmbedder()
    memo = MemoisedEmbedder(inner, MemoryVectorStore())
    first = await memo.embed(["a", "b", "a"])
    second = await memo.embed(["b", "c", "a"])
    assert inner.asked == [["a", "b"], ["c"]]
    assert np.array_equal(first[[1, 0]], second[[0, 2]])


async def test_memo_shares_one_call_when_the_same_is_asked_at_once() -> None:
    """Three callers with overlapping texts cost one call per text; cancelling one caller does not cancel the others."""
    inner = CountingEmbedder()
    memo = MemoisedEmbedder(inner, MemoryVectorStore())
    inner.gate.clear()
    calls = [asyncio.ensure_future(memo.embed(texts)) for texts in (["a", "b"], ["b", "a"], ["b", "c"])]
    await inner.calls.get()
    await inner.calls.get()
    calls[0].cancel()
    inner.gate.set()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert inner.asked == [["a", "b"], ["c"]]
    assert isinstance(results[0], asyncio.CancelledError)
    assert isinstance(results[1], np.ndarray) and isinstance(results[2], np.ndarray)
    assert np.array_equal(results[1][0], results[2][0])


async def test_memo_forgets_a_failure_at_once() -> None:
    """A failed call reaches all who shared it, and the next one tries again."""
    inner = CountingEmbedder()
    inner.failures = 1
    memo = MemoisedEmbedder(inner, MemoryVectorStore())
    outcomes = await asyncio.gather(memo.embed(["a"]), memo.embed(["a"]), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Retryable, Retryable]
    assert (await memo.embed(["a"])).shape == (1, 16)
    assert len(inner.asked) == 2


async def test_memo_ignores_stored_values_that_are_no_vector_of_the_model() -> None:
    """A truncated value in the store costs a call, not a wrong answer."""
    inner = CountingEmbedder()
    store = MemoryVectorStore()
    memo = MemoisedEmbedder(inner, store)
    right = await memo.embed(["a", "b"])
    damaged = {key: value[:-3] for key, value in (await store.get_many(list(store.keys()))).items()}
    await store.put_many(damaged)
    assert np.array_equal(await memo.embed(["a", "b"]), right)
    assert inner.asked == [["a", "b"], ["a", "b"]]


async def test_memo_keeps_models_apart_in_one_store() -> None:
    """The key contains the model's name: the same text of another model has another vector."""
    store = MemoryVectorStore()
    wide = await MemoisedEmbedder(HashingEmbedder(32), store).embed(["a"])
    narrow = await MemoisedEmbedder(HashingEmbedder(16), store).embed(["a"])
    assert (wide.shape, narrow.shape) == ((1, 32), (1, 16))


async def test_memory_store_forgets_the_least_recently_used() -> None:
    """With a capacity of two, reading an entry keeps it, and the other is dropped."""
    store = MemoryVectorStore(2)
    await store.put_many({b"a": b"1", b"b": b"2"})
    await store.get_many([b"a"])
    await store.put_many({b"c": b"3"})
    assert await store.get_many([b"a", b"b", b"c"]) == {b"a": b"1", b"c": b"3"}


async def test_memo_gives_up_what_is_under_way_when_closed() -> None:
    """Closing cancels the call and the callers that wait for it."""
    inner = CountingEmbedder()
    inner.gate.clear()
    memo = MemoisedEmbedder(inner, MemoryVectorStore())
    call = asyncio.ensure_future(memo.embed(["a"]))
    await inner.calls.get()
    await memo.close()
    with pytest.raises(asyncio.CancelledError):
        await call
