"""The log of a service under load, with a mark in everything that must not be in it: secrets and document texts."""

from __future__ import annotations

import json
import time
from pathlib import Path

import grpc
import httpx
import pytest

from graphtide.services.access.keys import new_key
from graphtide.services.api.grpc.server import SERVICE
from graphtide.services.api.schema import graphtide_pb2 as pb
from tests.support.endpoints import NOT_JSON, status
from tests.support.guarded import KeyFile, public_pem, rules, token
from tests.support.llm_faults import FAULTS
from tests.support.llm_server import LlmServer
from tests.support.openai_server import NAN, OpenAIServer
from tests.support.processes import Service, service

MARK = "Zyxomma"
"""A word that occurs only in the documents and the questions."""
LLM_KEY, EMBEDDING_KEY = "sk-llm-SECRETMARK-1", "sk-emb-SECRETMARK-2"


def publish_all(running: Service, key: str) -> None:
    """Send documents good and bad, questions, and refused requests, over both protocols."""
    with httpx.Client(base_url=running.url, headers={"authorization": f"Bearer {key}"}, timeout=60) as http:
        for number in range(6):
            body = {"text": f"{MARK} met Ada number {number} in {MARK} town.", "metadata": {"note": f"{MARK} {number}"}}
            http.put(f"/v1/graphs/notes/documents/d{number}", json=body)
        http.put("/v1/graphs/notes/documents/bad", content=f'{{"text": "{MARK}", ', headers=_JSON)
        http.put("/v1/graphs/notes/documents/bad", json={"text": MARK, "facts": [{"subject": MARK}]})
        http.post("/v1/graphs/notes/documents", content=f'{{"id": "x", "{MARK}": 1}}\n{MARK}', headers=_LINES)
        http.post("/v1/graphs/notes/query", json={"question": f"Who is {MARK}?"})
        http.post("/v1/graphs/notes/query", json={"question": f"Who is {MARK}?", "mode": MARK})
        http.get("/v1/graphs/notes/stats", headers={"authorization": f"Bearer {new_key()[0]}"})
        http.get(f"/v1/graphs?key={key}")
    with grpc.insecure_channel(running.grpc) as channel:
        query = channel.unary_unary(f"/{SERVICE}/Query", pb.QueryRequest.SerializeToString, pb.Answer.FromString)
        for metadata in ((("x-api-key", key),), (("authorization", f"Bearer {token(stranger=True)}"),)):
            with pytest.raises(grpc.RpcError):
                query(pb.QueryRequest(graph="notes", question=f"Who is {MARK}?", mode="no"), metadata=metadata)


_JSON = {"content-type": "application/json"}
_LINES = {"content-type": "application/x-ndjson"}


def settle(running: Service, key: str) -> None:
    """Wait until no document is in flight."""
    deadline = time.monotonic() + 60
    with httpx.Client(base_url=running.url, headers={"x-api-key": key}, timeout=120) as http:
        while http.get("/v1/graphs/notes/stats").json().get("lag", 1):
            assert time.monotonic() < deadline, "the documents never reached an end"


@pytest.mark.parametrize(
    ("shape", "level"), [pytest.param("json", "DEBUG", marks=pytest.mark.thorough), ("text", "INFO")]
)
def test_log_holds_no_secret_and_no_document_under_load(tmp_path: Path, shape: str, level: str) -> None:
    """Endpoints fail in every way meanwhile, and their errors repeat what they received."""
    keys = KeyFile(tmp_path / "keys.toml")
    key, log = keys.add("ada", "*", "read write admin metrics"), tmp_path / "log"
    token_rules = rules(tmp_path, key=public_pem())
    echo = f"wrong input: {MARK} met Ada, key {EMBEDDING_KEY}"
    with LlmServer() as llm, OpenAIServer() as embeddings:
        embeddings.misbehave(status(500, echo), NOT_JSON, NAN, status(429, echo, retry_after="0"), status(400, echo))
        llm.misbehave(*FAULTS.values())
        settings = {
            "GRAPHTIDE_LOG_FORMAT": shape,
            "GRAPHTIDE_LOG_LEVEL": level,
            "GRAPHTIDE_API_KEYS_FILE": str(keys.path),
            "GRAPHTIDE_JWT_KEY_FILE": str(token_rules.key_file),
            "GRAPHTIDE_JWT_ISSUER": token_rules.issuer,
            "GRAPHTIDE_JWT_AUDIENCE": token_rules.audience,
            "GRAPHTIDE_LLM_BASE_URL": llm.base_url,
            "GRAPHTIDE_LLM_MODEL": "m",
            "GRAPHTIDE_LLM_API_KEY": LLM_KEY,
            "GRAPHTIDE_LLM_TIMEOUT_S": "1",
            "GRAPHTIDE_EMBEDDING_BASE_URL": embeddings.base_url.replace("://", "://user:SECRETMARK-3@"),
            "GRAPHTIDE_EMBEDDING_MODEL": "e",
            "GRAPHTIDE_EMBEDDING_API_KEY": EMBEDDING_KEY,
        }
        with service(tmp_path / "data", settings, log) as running:
            publish_all(running, key)
            settle(running, key)
    written = log.read_text()
    for secret in ("SECRETMARK", key, key.split("_", 2)[2], "eyJ", MARK):
        assert secret not in written, next(line for line in written.splitlines() if secret in line)
    assert "Traceback" not in written
    if shape == "json":
        check_lines([json.loads(line) for line in written.splitlines()])
    else:
        assert " graphtide.access: request method=PUT path=/v1/graphs/notes/documents/d0 " in written


def check_lines(lines: list[dict[str, object]]) -> None:
    """Check that each line has the four fields, requests have their caller, and documents are named."""
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    requests = [line for line in lines if line["message"] == "request"]
    assert {line["key"] for line in requests} == {"ada", ""}
    assert {line["status"] for line in requests} >= {202, 400, 401, 422}
    assert any(
        line["path"] == f"/{SERVICE}/Query" and line["status"] == "UNAUTHENTICATED"
        for line in lines[1:]
        if line["message"] == "call"
    )
    assert {("notes", "d0")} <= {(line.get("graph"), line.get("doc_id")) for line in lines}
