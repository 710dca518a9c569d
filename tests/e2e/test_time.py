"""Contradictions over HTTP, on the real service: an office's holder changes, is queried as of a moment, returns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from prometheus_client import CollectorRegistry

from graphtide.infra.settings import Settings
from graphtide.services.api.http.app import create_app
from graphtide.services.wiring import open_application
from tests.support.serving import http_service

QUESTION = "Who is the chief executive of Kittiwake Station?"
DOCUMENTS = {
    "spring": ("Lena Abara is the chief executive of Kittiwake Station.", "2018-04"),
    "autumn": ("Kenji Watanabe is the chief executive of Kittiwake Station.", "2021-09"),
}


async def ask(client: httpx.AsyncClient, after: str, **filters: str) -> dict[str, Any]:
    answered = await client.post("/query", json={"question": QUESTION, "after": after, "filters": filters})
    assert answered.status_code == 200, answered.text
    body: dict[str, Any] = answered.json()
    return body


async def test_office_passes_on_and_back_as_documents_come_and_go(tmp_path: Path) -> None:
    """The later document's holder is answered, the earlier one's as of its time, and after a deletion."""
    async with (
        open_application(Settings(data=tmp_path), CollectorRegistry()) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=120) as client,
    ):
        token = ""
        for doc_id in ("autumn", "spring"):  # the later one first: dates decide, not arrival
            text, when = DOCUMENTS[doc_id]
            put = await client.put(f"/documents/{doc_id}", json={"text": text, "occurred_at": when})
            token = put.json()["token"]
        now = await ask(client, token)
        assert "Kenji Watanabe" in now["answer"] and "Lena" not in now["answer"]
        (fact,) = (await client.get("/documents/spring")).json()["facts"]
        assert (fact["valid_to"], fact["ended_by"], fact["superseding_value"]) == (
            "2021-09",
            "autumn",
            "Kenji Watanabe",
        )
        then = await ask(client, token, as_of="2019")
        assert "Lena Abara" in then["answer"]
        assert {passage["doc_id"] for passage in then["passages"]} == {"spring"}
        token = (await client.delete("/documents/autumn")).json()["token"]
        assert "Lena Abara" in (await ask(client, token))["answer"]
        (fact,) = (await client.get("/documents/spring")).json()["facts"]
        assert "ended_by" not in fact or not fact["ended_by"]


async def test_facts_brought_along_say_when_they_held(tmp_path: Path) -> None:
    """`valid_from` and `valid_to` of a given fact are returned, and a question as of another time leaves it out."""
    fact = {"subject": "Ada", "predicate": "lives in", "object": "London", "valid_from": "1840", "valid_to": "1842"}
    async with (
        open_application(Settings(data=tmp_path), CollectorRegistry()) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=f"{url}/v1/graphs/g", timeout=120) as client,
    ):
        put = await client.put("/documents/a", json={"text": "Ada lives in London.", "facts": [fact]})
        token = put.json()["token"]
        assert len((await ask(client, token, as_of="1841"))["passages"]) == 1
        assert (await ask(client, token, as_of="1850"))["passages"] == []
        (stated,) = (await client.get("/documents/a")).json()["facts"]
        assert (stated["valid_from"], stated["valid_to"]) == ("1840", "1842")
        wrong = await client.put("/documents/b", json={"text": "x", "facts": [fact | {"valid_from": "soon"}]})
        assert wrong.status_code == 422
        assert "facts[0].valid_from" in wrong.text
        wrong = await client.post("/query", json={"question": "x", "filters": {"as_of": "soon"}})
        assert wrong.status_code == 422
