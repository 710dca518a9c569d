"""A schema registry for tests: an ASGI application on a real socket with the part of Confluent's API that decoders use.

It refuses requests without its credentials, if it has any, and answers with an error on request. The same tests pass
on a real registry that GRAPHTIDE_TEST_SCHEMA_REGISTRY names.
"""

from __future__ import annotations

import base64
import io
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fastavro
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Schema = Mapping[str, Any]


@dataclass
class FakeRegistry:
    """The registered schemas by number and by subject. `fails_with` is the status of every answer, 0: the right one."""

    user: str = ""
    password: str = ""
    fails_with: int = 0
    asked: int = 0
    _schemas: list[dict[str, Any]] = field(default_factory=list)
    _subjects: dict[str, list[int]] = field(default_factory=dict)

    def application(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/schemas/ids/{number:int}", self._schema),
            Route("/subjects/{subject}/versions/{version:int}", self._version),
            Route("/subjects/{subject}/versions", self._register, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    async def _schema(self, request: Request) -> Response:
        return self._refused(request) or self._shown(request.path_params["number"], "Schema", {})

    async def _version(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        subject, version = request.path_params["subject"], request.path_params["version"]
        numbers = self._subjects.get(subject, [])
        if not 1 <= version <= len(numbers):
            return JSONResponse({"error_code": 40402, "message": "Version not found."}, 404)
        named = {"subject": subject, "version": version, "id": numbers[version - 1]}
        return self._shown(numbers[version - 1], "Schema", named)

    async def _register(self, request: Request) -> Response:
        if refused := self._refused(request):
            return refused
        self._schemas.append(await request.json())
        self._subjects.setdefault(request.path_params["subject"], []).append(len(self._schemas))
        return JSONResponse({"id": len(self._schemas)})

    def _refused(self, request: Request) -> Response | None:
        self.asked += 1
        if self.fails_with:
            return JSONResponse({"error_code": self.fails_with * 100 + 1, "message": "no"}, self.fails_with)
        expected = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        if self.user and request.headers.get("authorization") != f"Basic {expected}":
            return JSONResponse({"error_code": 40101, "message": "Unauthorized"}, 401)
        return None

    def _shown(self, number: int, what: str, named: Mapping[str, Any]) -> Response:
        if not 1 <= number <= len(self._schemas):
            return JSONResponse({"error_code": 40403, "message": f"{what} {number} not found"}, 404)
        return JSONResponse({**self._schemas[number - 1], **named})


def registration(schema: Schema, kind: str = "AVRO", references: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the body that registers a schema."""
    return {"schema": json.dumps(schema), "schemaType": kind, "references": list(references)}


def avro(number: int, schema: Any, value: object) -> bytes:
    """Return a value in the wire format, encoded by its Avro schema."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return framed(number, stream.getvalue())


def framed(number: int, data: bytes) -> bytes:
    """Return data with the wire format's header."""
    return struct.pack(">bI", 0, number) + data
