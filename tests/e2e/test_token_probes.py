"""Tokens that a caller makes up, over HTTP and gRPC: the answer tells nothing about other graphs."""

from __future__ import annotations

from pathlib import Path

import grpc
import grpc.aio
import httpx
import pytest

from graphtide.services.api.http.app import create_app
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.streams.messages import DocumentMessage
from tests.support.guarded import KeyFile, gate
from tests.support.serving import grpc_service, http_service, opened

PROBES = ("0:1", "0:2", "0:3", "0:4", "0:5", "0:999999", "3:0")
"""Positions of another graph's revisions, then positions after the end of `documents`."""


async def test_made_up_tokens_get_one_answer_whatever_other_graphs_accepted(tmp_path: Path) -> None:
    """A key for one graph cannot count the revisions of others; its own token works."""
    keys = KeyFile(tmp_path / "keys.toml")
    key = keys.add("reader", "mine", "read")
    guard = gate(keys, tmp_path)
    async with opened("embedded", tmp_path / "data") as application:
        mine = await application.publish([DocumentMessage("mine", "a", "Ada Lovelace wrote notes.")])
        await application.publish([DocumentMessage("secret", f"d{n}", f"Person {n} lives in Rome.") for n in range(3)])
        async with (
            http_service(create_app(application, gate=guard)) as url,
            httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
            grpc_service(application, gate=guard) as channel,
        ):
            stub = GraphtideStub(channel)

            async def asked(after: str) -> tuple[int, str]:
                body = {"question": "Who wrote notes?", "after": after}
                response = await http.post("/v1/graphs/mine/query", json=body)
                return response.status_code, response.text.replace(after, "PROBE")

            async def called(after: str) -> tuple[grpc.StatusCode, str]:
                request = pb.QueryRequest(graph="mine", question="Who wrote notes?", after=after)
                with pytest.raises(grpc.aio.AioRpcError) as failed:
                    await stub.Query(request, metadata=[("authorization", f"Bearer {key}")])
                return failed.value.code(), str(failed.value.details()).replace(after, "PROBE")

            own = await asked(mine.token)
            assert own[0] == 200, own
            answers = {await asked(probe) for probe in PROBES}
            assert len(answers) == 1 and {status for status, _ in answers} == {422}, answers
            called_ = {await called(probe) for probe in PROBES}
            assert len(called_) == 1 and {code for code, _ in called_} == {grpc.StatusCode.INVALID_ARGUMENT}
