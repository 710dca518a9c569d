"""A guarded service with keys, and requests with every kind of credentials."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import cast

import httpx
from google.protobuf.message_factory import GetMessageClass

from graphtide.services.access.gate import AccessGate
from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.http.access import OPEN
from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from tests.support.application import InMemoryApplication
from tests.support.blocking_grpc import Message, stream_outcome
from tests.support.guarded import KeyFile, token

METHODS = ("get", "put", "post", "delete")
ROUTES = [
    (method.upper(), path)
    for path, described in create_app(InMemoryApplication()).openapi()["paths"].items()
    for method in METHODS
    if method in described and path not in OPEN
]

CALLS = list(pb.DESCRIPTOR.services_by_name["Graphtide"].methods)
SECRET = "notes"  # noqa: S105 -- the name of the graph whose existence must stay hidden


@dataclass(frozen=True, slots=True)
class GuardedService:
    """A guarded service, with two graphs in it."""

    url: str
    grpc: str
    keys: KeyFile
    gate: AccessGate
    application: InMemoryApplication


def bad_credentials(keys: KeyFile) -> dict[str, dict[str, str]]:
    """Yield headers that must be answered with 401."""
    good = keys.add("wellknown", "*", "read write admin metrics")
    head, _, tail = token().rpartition(".")
    gone = keys.add("gone", "*", "read write admin metrics", expires="2020-01-01")
    return {
        "none": {},
        "wrong key": {"x-api-key": good[:-1] + ("A" if good[-1] != "A" else "B")},
        "unknown key": {"authorization": f"Bearer gt_{'a' * 16}_{'A' * 43}"},
        "expired key": {"x-api-key": gone},
        "expired token": {"authorization": f"Bearer {token(exp=int(time.time()) - 60)}"},
        "tampered token": {"authorization": f"Bearer {head}.{tail[::-1]}"},
        "foreign token": {"authorization": f"Bearer {token(stranger=True)}"},
        "basic": {"authorization": "Basic YTpi"},
        "two": {"authorization": f"Bearer {good}", "x-api-key": good},
        "empty": {"x-api-key": ""},
    }


async def requested(
    http: httpx.AsyncClient, route: tuple[str, str], graph: str, headers: dict[str, str]
) -> httpx.Response:
    """Send the route a valid request for the graph."""
    method, template = route
    path = template.replace("{graph}", graph).replace("{entity_id}", "e1").replace("{id}", "curie")
    body = {"text": "x"} if method == "PUT" else [{"id": "a", "text": "x"}] if path.endswith("documents") else None
    if path.endswith("query"):
        return await http.request(method, path, json={"question": "Who?"}, headers=headers)
    return await http.request(method, path, json=body, headers=headers)


def request_for(call: object, graph: str) -> Message:
    """Return a request of the call's type, with the fields that every call needs."""
    message = GetMessageClass(call.input_type)()  # type: ignore[attr-defined]
    values = {"graph": graph, "id": "curie", "text": "x", "question": "Who?"}
    for name, value in values.items():
        if name in message.DESCRIPTOR.fields_by_name:
            setattr(message, name, value)
    return cast(Message, message)


async def called(address: str, call: object, graph: str, headers: dict[str, str]) -> tuple[str, str]:
    """Return (status, error body) of the call."""
    path, request = f"/{SERVICE}/{call.name}", request_for(call, graph)  # type: ignore[attr-defined]
    ended = await stream_outcome(address, path, [request], headers)
    body = ended.trailing.get("graphtide-error-bin", b"{}")
    assert isinstance(body, bytes)
    return ended.status.name, body.decode()
