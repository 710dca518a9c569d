"""Nothing is lost between two processes: every field of every message is written and read.

The values are made from the types, with no field at its default, so that a field which is added to a dataclass or to
the protocol, and forgotten on the way, fails here.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from itertools import count
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from graphtide.graph.records import DocumentInfo
from graphtide.services.api.grpc.conversion import message_of, question_message, request_value
from graphtide.services.api.grpc.decoding import answer_of, value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.api.schema.requests.documents import document_of
from graphtide.services.api.schema.requests.questions import question_of
from graphtide.services.api.schema.shapes import answer_json, fields_json, reports_json
from graphtide.services.application import (
    Answer,
    CommunityReport,
    DeletedGraph,
    Digest,
    DocumentStatus,
    EntityStatus,
    Filters,
    GraphStats,
    LetterList,
    LetterStatus,
    Purged,
    QueryRequest,
    Rebuilt,
    RelatedDocuments,
    Verification,
)
from graphtide.services.browsing import (
    CohesiveGroup,
    CommunityDetails,
    CommunityPage,
    DocumentPage,
    EntityPage,
    Neighbourhood,
    TokenState,
)
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.cluster.remote_browser import RemoteBrowser
from graphtide.services.cluster.remote_questions import RemoteStandingQuestions
from graphtide.services.inspection.graph_pages import GraphPage
from graphtide.services.standing.types import QuestionPage, StandingEvent, StandingQuestion
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact, metadata_pairs

FREE = "google.protobuf.Struct"
ONE_OF_ITS_KIND = {
    (Answer, "trace"): ({"step": "seeds", "items": [{"id": "a", "score": 0.5}]},),
    (StandingQuestion, "filters"): {"as_of": "2024", "sources": ["a"]},
    (StandingQuestion, "options"): {"coverage": 8, "multipliers": {"led": 0.5}},
    (GraphStats, "indexes"): {"chunks": {"kind": "exact", "live": 3}},
    (GraphStats, "spending"): {"extract": {"cost": 0.25, "calls": 2}},
    (DocumentStatus, "metadata"): {"year": 1911, "tags": ["a", {"b": None}]},
}
"""Free-form values, which types say too little of."""


def filled(kind: Any, numbers: Iterator[int], place: tuple[Any, str] | None = None) -> Any:
    """A value of the type that differs from every other, and from any default."""
    if place in ONE_OF_ITS_KIND:
        return ONE_OF_ITS_KIND[place]
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{one.name: filled(hints[one.name], numbers, (kind, one.name)) for one in fields(kind)})
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return filled(next(one for one in args if one is not type(None)), numbers)
    if origin is tuple:
        return tuple(filled(args[0], numbers) for _ in range(2))
    if origin is not None and issubclass(origin, Mapping):
        return {f"key{next(numbers)}": filled(args[1], numbers)}
    return list(kind)[-1] if issubclass(kind, enum.Enum) else plain(kind, next(numbers))


def plain(kind: type, number: int) -> Any:
    return {bool: True, int: number, float: number + 0.5, str: f"text {number}"}[kind]


def unset(message: Message) -> list[str]:
    """The fields that hold nothing, by their path; below repeated ones, those of any item."""
    empty = []
    present = {field.name: value for field, value in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        if field.name not in present:
            empty.append(field.full_name)
        elif is_message(field):
            value = present[field.name]
            for one in [value] if not field.is_repeated else value:
                empty += unset(one)
    return empty


def is_message(field: FieldDescriptor) -> bool:
    """Return True for a field with messages of this protocol, which are neither maps nor free-form values."""
    kind: Descriptor | None = field.message_type
    return kind is not None and kind.full_name != FREE and not kind.GetOptions().map_entry


def by_fields(kind: type, message: type[Message]) -> tuple[Callable[[Any], Message], Callable[[Any], Any]]:
    """Return the writer and the reader of a type whose message has its fields."""
    return lambda value: message_of(message, fields_json(value)), lambda written: value_of(kind, written)


ANSWERS: dict[type, tuple[Callable[[Any], Message], Callable[[Any], Any]]] = {
    Answer: (lambda answer: message_of(pb.Answer, answer_json(answer)), lambda message: answer_of(message, True)),
    CommunityReport: (
        lambda report: message_of(pb.ReportList, reports_json([report])),
        lambda message: value_of(CommunityReport, message.reports[0]),
    ),
    DocumentStatus: by_fields(DocumentStatus, pb.DocumentStatus),
    EntityStatus: by_fields(EntityStatus, pb.EntityStatus),
    GraphStats: by_fields(GraphStats, pb.GraphStats),
    Digest: by_fields(Digest, pb.GraphDigest),
    Verification: by_fields(Verification, pb.Verification),
    Rebuilt: by_fields(Rebuilt, pb.Rebuilt),
    Purged: by_fields(Purged, pb.Purged),
    DeletedGraph: by_fields(DeletedGraph, pb.DeletedGraph),
    LetterStatus: by_fields(LetterStatus, pb.DeadLetter),
    LetterList: by_fields(LetterList, pb.DeadLetterList),
    RelatedDocuments: by_fields(RelatedDocuments, pb.RelatedList),
    GraphPage: by_fields(GraphPage, pb.GraphList),
    DocumentPage: by_fields(DocumentPage, pb.DocumentPage),
    EntityPage: by_fields(EntityPage, pb.EntityPage),
    Neighbourhood: by_fields(Neighbourhood, pb.Neighbourhood),
    CohesiveGroup: by_fields(CohesiveGroup, pb.CohesiveGroup),
    CommunityPage: by_fields(CommunityPage, pb.CommunityPage),
    CommunityDetails: by_fields(CommunityDetails, pb.CommunityDetails),
    TokenState: by_fields(TokenState, pb.TokenState),
    StandingQuestion: by_fields(StandingQuestion, pb.StandingQuestion),
    QuestionPage: by_fields(QuestionPage, pb.QuestionPage),
    StandingEvent: by_fields(StandingEvent, pb.QuestionEvent),
}


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: str(kind.__name__))
def test_answer_fills_every_field_of_its_message_and_is_read_back(kind: type) -> None:
    """Field by field of the protocol's descriptor, nested ones, too: none is left empty, and nothing is lost."""
    write, read = ANSWERS[kind]
    given = filled(kind, count(1))
    message = write(given)
    assert unset(message) == []
    assert read(message) == given
    assert read(type(message).FromString(message.SerializeToString())) == given


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: str(kind.__name__))
def test_answer_is_read_back_when_what_may_be_none_is(kind: type) -> None:
    """A document that was only accepted has no live revision: the message leaves it out, and None comes back."""
    write, read = ANSWERS[kind]
    hints = get_type_hints(kind)
    nothing = {one.name: None for one in fields(kind) if type(None) in get_args(hints[one.name])}
    given = replace(filled(kind, count(1)), **nothing)
    if kind is Answer:  # without a trace it is another answer: one without `explain`
        assert answer_of(message_of(pb.Answer, answer_json(given)), False) == given
    else:
        assert read(write(given)) == given


def test_question_fills_every_field_of_its_message_and_is_read_back() -> None:
    """Filters with their dates, too; only how long to wait is said by the call itself."""
    filters = Filters(("a", "b"), ("here",), (("tags", [1, 0.5, None]),), "1890", "1900-05", "1895-06-01")
    ask = QueryRequest(
        "Who?",
        "global-dynamic",
        7,
        "0:3",
        filters,
        generate=False,
        explain=True,
        timeout_s=RequestLimits().query_timeout_s,
        level=2,
        exact=True,
        at="v3",
        options=(("relevant", 2),),
    )
    assert not [
        one.name for one in fields(QueryRequest) if one.name != "timeout_s" and getattr(ask, one.name) == one.default
    ]
    message = question_message("g", ask)
    # `generate` is set, and False.
    assert unset(message) == [] and message.HasField("generate")
    assert question_of(request_value(message), RequestLimits()) == ask
    assert all(getattr(filters, one.name) != one.default for one in fields(Filters))
    little = replace(ask, filters=Filters(), level=None, after="", generate=True, explain=False, exact=False, at="")
    little = replace(little, options=())
    assert question_of(request_value(question_message("g", little)), RequestLimits()) == little


def test_document_over_grpc_keeps_every_field() -> None:
    """A request with every field set is the document that HTTP would have made of the same values."""
    entity = pb.Entity(name="Curie", type="person", description="a physicist")
    fact = pb.Fact(subject="Curie", predicate="found", object="radium", description="in Paris", weight=2.5)
    fact.valid_from, fact.valid_to = "1898", "1934-07-04"
    request = pb.PublishRequest(graph="g", id="d", text="t", title="T", source="s", occurred_at="1898-12")
    request.metadata.update({"year": 1911})
    request.media_type = "text/markdown"
    request.entities.CopyFrom(pb.EntityList(items=[entity]))
    request.facts.CopyFrom(pb.FactList(items=[fact]))
    assert unset(request) == []
    info = DocumentInfo("T", "s", "1898-12", metadata_pairs({"year": 1911}))
    given = GivenFact("Curie", "found", "radium", "in Paris", 2.5, "1898", "1934-07-04")
    wanted = DocumentMessage("g", "d", "t", info, (GivenEntity("Curie", "person", "a physicist"),), (given,))
    wanted = replace(wanted, media_type="text/markdown")
    assert document_of("g", request_value(request), RequestLimits()) == wanted


def test_every_call_is_forwarded_and_every_answer_is_tried_here() -> None:
    """Each call of the protocol is one that the forwarding process makes, and each answer is one of the above."""
    parts = (RemoteApplication, RemoteBrowser, RemoteStandingQuestions)
    source = "".join(map(inspect.getsource, parts))
    calls = pb.DESCRIPTOR.services_by_name["Graphtide"].methods
    # Documents are forwarded in one step, as `PublishAll`; a discard by its old name, which older replicas know, too.
    assert [one.name for one in calls if not re.search(rf"_stub\.{one.name}\b", source)] == [
        "Publish",
        "PublishStream",
        "DiscardDeadLetter",
    ]
    tried = {write(filled(kind, count(1))).DESCRIPTOR.name for kind, (write, _) in ANSWERS.items()}
    others = {"Receipt", "PublishSummary", "AnswerEvent", "ChangeEvent", "PreviewReply", "QuestionDeleted"}
    assert {one.output_type.name for one in calls} == tried | others
