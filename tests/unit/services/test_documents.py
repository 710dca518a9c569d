"""Documents as they are published: an accepted document reaches the log unchanged over every protocol."""

from __future__ import annotations

import json

import pytest
from google.protobuf.json_format import ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st

from graphtide.services.api.grpc.conversion import request_value
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.envelope import document_id, graph_name
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import document_of, read_document, read_lines, read_list
from graphtide.streams.errors import Invalid, QueryError
from graphtide.streams.messages import decode_document

LIMITS = RequestLimits()

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=30)
filled = texts.filter(lambda text: bool(text.strip()))
ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda each: bool(each.strip())
)
weights = st.floats(0.001, 1000) | st.integers(1, 1000)
facts = st.fixed_dictionaries(
    {"subject": filled, "predicate": filled, "object": filled}, optional={"description": texts, "weight": weights}
)
entities = st.fixed_dictionaries({"name": filled}, optional={"type": texts, "description": texts})
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-1e9, 1e9).filter(lambda n: n % 1 != 0)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
bodies = st.fixed_dictionaries(
    {"id": ids, "text": filled},
    optional={
        "title": texts,
        "source": texts,
        "occurred_at": st.dates().map(str),
        "metadata": st.dictionaries(texts, values, max_size=3),
        "entities": st.lists(entities, max_size=3),
        "facts": st.lists(facts, max_size=3),
    },
)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(bodies)
def test_document_is_the_same_whichever_way_it_comes(body: dict[str, object]) -> None:
    """By PUT, in a list, as a line, over gRPC; and decoding what goes to the log gives it back."""
    raw = json.dumps(body).encode()
    message = document_of("g", body, LIMITS)
    without_id = json.dumps({name: value for name, value in body.items() if name != "id"}).encode()
    assert read_document("g", message.doc_id, without_id, LIMITS) == message
    assert read_list("g", b"[" + raw + b"]", LIMITS).documents == (message,)
    assert read_lines("g", raw, LIMITS).documents == (message,)
    wrapped = body | {name: {"items": body[name]} for name in ("entities", "facts") if name in body}
    request = ParseDict(wrapped, pb.PublishRequest(graph="g"))
    assert document_of("g", request_value(request), LIMITS) == message
    assert decode_document(message.key, message.encode()) == message


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
keys = st.sampled_from(["id", "text", "title", "source", "occurred_at", "metadata", "entities", "facts", "other"])


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(st.dictionaries(keys, anything, max_size=6) | anything)
def test_document_is_refused_by_name_or_fit_for_the_log(value: object) -> None:
    """Any JSON gives an error that names a field, or a message that the log can read back."""
    raw = json.dumps(value).encode()
    try:
        message = read_lines("g", raw, LIMITS).documents
    except QueryError as error:
        assert isinstance(error, Invalid)
        return
    for each in message:
        assert decode_document(each.key, each.encode()) == each


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_are_refused_by_an_error_of_ours(raw: bytes) -> None:
    """Arbitrary bytes give the same two outcomes."""
    with pytest.raises(QueryError):
        read_document("g", "a", raw, LIMITS)


def test_facts_replace_extraction_when_they_are_an_empty_list() -> None:
    """Omitted and null mean: extract; an empty list means: none exist."""
    given_ = [read_document("g", "a", body, LIMITS).facts for body in (b'{"text":"x"}', b'{"text":"x","facts":null}')]
    assert given_ == [None, None]
    assert read_document("g", "a", b'{"text":"x","facts":[]}', LIMITS).facts == ()


@pytest.mark.parametrize("graph", ["a", "A-b_c.9", "-", "_x", "9", "x" * 64])
def test_graph_name_is_kept_when_it_is_one(graph: str) -> None:
    """Letters, digits and _ . - are enough for a name."""
    assert graph_name(graph) == graph


@pytest.mark.parametrize("graph", ["", ".", ".a", "a|b", "a/b", "a b", "ä", "x" * 65, "a\n", "a\0"])
def test_graph_name_is_refused_when_it_is_none(graph: str) -> None:
    """A line break at the end too."""
    with pytest.raises(Invalid):
        graph_name(graph)


@pytest.mark.parametrize("doc_id", ["a", "a/b", "|", "日本", "a b", "\u200b", "x" * 512])
def test_document_id_is_kept_when_it_is_one(doc_id: str) -> None:
    """Almost anything is an id."""
    assert document_id(doc_id) == doc_id


@pytest.mark.parametrize("doc_id", ["", " ", "a\n", "\x7f", "\x85", "\ud800", "x" * 513])
def test_document_id_is_refused_when_it_is_none(doc_id: str) -> None:
    """Blank, control characters, half a surrogate pair, too long."""
    with pytest.raises(Invalid):
        document_id(doc_id)
