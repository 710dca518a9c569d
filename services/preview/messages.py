"""Conversion of previews to messages and to the JSON of a request, and back."""

from __future__ import annotations

import json
from typing import Any

from graphtide.graph.retrieval.options.fields import options_json
from graphtide.services.api.grpc.conversion import message_of
from graphtide.services.api.grpc.decoding import value_of
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.shapes import dump, fields_json
from graphtide.services.changes.messages import change_message, change_of
from graphtide.services.preview.types import Preview, PreviewRequest, QuestionPreview
from graphtide.services.standing.types import QuestionDefinition
from graphtide.streams.messages import DocumentMessage
from graphtide.streams.standing.records import filters_json


def preview_body(request: PreviewRequest) -> bytes:
    """Return the JSON body of the request."""
    body = {
        "publish": [_document(each) for each in request.publish],
        "delete": list(request.delete),
        "questions": [_question(each) for each in request.questions],
    }
    return dump(body)


def preview_message(preview: Preview) -> pb.PreviewReply:
    """Return the message of a preview."""
    questions = [message_of(pb.PreviewReply.Question, fields_json(each)) for each in preview.questions]
    return pb.PreviewReply(version=preview.version, change=change_message(preview.change), questions=questions)


def preview_of(message: pb.PreviewReply) -> Preview:
    """Return the preview of a message."""
    questions = tuple(value_of(QuestionPreview, each) for each in message.questions)
    return Preview(message.version, change_of(message.change), questions)


def _document(document: DocumentMessage) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(document.encode())
    del record["schema"]
    return {"id": document.doc_id, **record}


def _question(asked: QuestionDefinition) -> dict[str, Any]:
    body: dict[str, Any] = {"question": asked.question, "mode": asked.mode, "top_k": asked.top_k}
    filters = filters_json(asked.filters)
    body |= {"options": options_json(asked.options)} if asked.options else {}
    return {**body, "filters": filters} if filters else body
