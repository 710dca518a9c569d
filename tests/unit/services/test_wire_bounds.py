"""Bounds of requests over gRPC: what passes is parsed as before, what does not is refused before it is parsed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from google.protobuf.message import DecodeError, Message

from graphtide.services.api.grpc.large_messages.wire_bounds import SMALL_BYTES, bounded
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.errors import MalformedRequest
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.streams.errors import Invalid
from tests.support.seeds import seeds

LIMITS = RequestLimits()
MANY = 20_000


def document(**fields: Any) -> pb.PublishRequest:
    return pb.PublishRequest(graph="g", id="a", text="x" * SMALL_BYTES, **fields)


def nulls(count: int) -> pb.PublishRequest:
    """Return a document whose metadata holds a list of nulls."""
    request = document()
    request.metadata.update({"a": [None] * count})
    return request


TOO_LARGE: dict[str, Message] = {
    "facts": document(facts=pb.FactList(items=[pb.Fact()] * MANY)),
    "entities": document(entities=pb.EntityList(items=[pb.Entity()] * MANY)),
    "metadata": nulls(10 * MANY),
    "filters.doc_ids": pb.QueryRequest(question="x", filters=pb.Filters(doc_ids=[""] * MANY)),
    "filters.sources": pb.StandingQuestionRequest(question="x", filters=pb.Filters(sources=[""] * MANY)),
}


@pytest.mark.parametrize("field", TOO_LARGE)
def test_message_beyond_the_limits_is_refused_before_it_is_parsed(field: str) -> None:
    """The error names the field, whether the list is in one piece or in many that the parser would merge."""
    request = TOO_LARGE[field]
    parsed: list[bytes] = []

    class Parser:
        DESCRIPTOR = type(request).DESCRIPTOR

        def parse(self, raw: bytes) -> None:
            parsed.append(raw)

    raw = request.SerializeToString()
    pieces = {"facts": b"\x4a\x02\x0a\x00", "entities": b"\x42\x02\x0a\x00"}.get(field, b"") * MANY
    for given in (raw, pieces) if pieces else (raw,):
        with pytest.raises(Invalid) as refused:
            bounded(Parser().parse, LIMITS)(given)
        assert refused.value.field == field
    assert not parsed


def test_message_within_the_limits_is_parsed_as_before() -> None:
    """Lists at their limits, and metadata at its limit, of the values that are largest on the wire."""
    fact, entity = pb.Fact(subject="a", predicate="b", object="c", weight=0.5), pb.Entity(name="a")
    request = document(
        facts=pb.FactList(items=[fact] * LIMITS.max_facts), entities=pb.EntityList(items=[entity] * LIMITS.max_entities)
    )
    request.metadata.update({"a": [1] * ((LIMITS.max_metadata_bytes - 10) // 2)})
    assert bounded(pb.PublishRequest.FromString, LIMITS)(request.SerializeToString()) == request
    asked = pb.QueryRequest(question="x" * SMALL_BYTES, filters=pb.Filters(doc_ids=["a"] * LIMITS.max_filter_values))
    assert bounded(pb.QueryRequest.FromString, LIMITS)(asked.SerializeToString()) == asked


@pytest.mark.parametrize("raw", [b"\x0b" * MANY, b"\xa3\x06\xa4\x06" * MANY])
def test_groups_do_not_hide_what_follows(raw: bytes) -> None:
    """The parser skips a group and reads the fields after it; no message of the service has one."""
    with pytest.raises(MalformedRequest):
        bounded(pb.PublishRequest.FromString, LIMITS)(raw)


@pytest.mark.parametrize("seed", seeds(5, 20))
def test_damaged_message_is_refused_or_means_what_it_meant_to_the_parser(seed: int) -> None:
    """Bytes that change at random end in an error for the caller, or in the message that the parser reads."""
    print("seed", seed)
    rng, parse = Random(seed), pb.PublishRequest.FromString
    whole = document(facts=pb.FactList(items=[pb.Fact(subject="a", predicate="b", object="c")] * 50))
    for _ in range(200):
        raw = bytearray(whole.SerializeToString())
        for _ in range(rng.randint(1, 4)):
            raw[rng.choice((rng.randrange(12), rng.randrange(len(raw)), len(raw) - rng.randint(1, 400)))] = (
                rng.randrange(256)
            )
        given = bytes(raw[: rng.choice((len(raw), rng.randrange(SMALL_BYTES + 1, len(raw))))])
        try:
            found = bounded(parse, LIMITS)(given)
        except (Invalid, MalformedRequest, DecodeError):
            continue
        assert found == parse(given)
