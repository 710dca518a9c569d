"""Dead letters over HTTP, gRPC and the command line: a real poison record, on the embedded service."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import httpx
import pytest
import pytest_asyncio

from graphtide.infra.settings import Settings
from graphtide.services.access.policy import Action
from graphtide.services.api.grpc.access import action_of as rpc_action
from graphtide.services.api.http.access import action_of as http_action
from graphtide.services.api.http.app import create_app
from graphtide.services.api.http.documentation import response_models as models
from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.calls import GraphtideStub
from graphtide.services.application import QueryRequest
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DOCUMENTS
from graphtide.streams.ports import Record
from tests.support.command import graphtide
from tests.support.serving import grpc_service, http_service

LETTERS = "/v1/graphs/g/dead-letters"
NAMELESS = "/v1/graphs/*/dead-letters"
RIGHT = {"text": "Marie Curie discovered polonium."}
POISON = [
    Record("g|bytes", b"\xff\x1b[31m{"),
    Record("g|schema", b'{"schema":99,"text":"Marie Curie."}'),
    Record("no-bar", b"{}"),
]
"""Not JSON and with a terminal escape; an unknown schema; a key that names no graph."""


@dataclass(frozen=True, slots=True)
class Service:
    """The embedded application with three dead letters, and two clients of it."""

    application: LocalApplication
    url: str
    http: httpx.AsyncClient
    channel: grpc.aio.Channel

    async def until(self, graph: str, count: int, resolved: bool = False) -> list[dict[str, object]]:
        """Return the dead letters of the graph, once there are that many."""
        while True:
            path = f"/v1/graphs/{graph}/dead-letters?resolved={str(resolved).lower()}"
            listed = checked_body(models.LetterListBody, await self.http.get(path))["letters"]
            assert isinstance(listed, list)
            if len(listed) == count:
                return listed
            await asyncio.sleep(0.02)


async def command(*arguments: str, url: str) -> subprocess.CompletedProcess[str]:
    return await asyncio.to_thread(graphtide, *arguments, url=url)


def checked_body(
    model: type[models.LetterListBody] | type[models.LetterBody], response: httpx.Response
) -> dict[str, object]:
    assert response.status_code == 200, response.text
    model.model_validate_json(response.content)
    body: dict[str, object] = response.json()
    return body


@pytest_asyncio.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with (
        asyncio.timeout(90),
        open_application(Settings(data=tmp_path)) as application,
        http_service(create_app(application)) as url,
        httpx.AsyncClient(base_url=url, timeout=60) as http,
        grpc_service(application) as channel,
    ):
        assert isinstance(application, LocalApplication)
        await application._runtime.log.append(DOCUMENTS, POISON)
        one = Service(application, url, http, channel)
        await one.until("g", 2)
        await one.until("*", 1)
        yield one


async def test_poison_is_listed_shown_corrected_and_queryable_over_http(service: Service) -> None:
    """Reason and bytes are shown; an unchanged retry is refused; the corrected document is in the graph."""
    first, second = await service.until("g", 2)
    assert {first["doc_id"], second["doc_id"]} == {"bytes", "schema"}
    assert (first["text"], first["original"], first["size_bytes"] != 0) == ("", "", True)
    bad = next(one for one in (first, second) if one["doc_id"] == "bytes")
    shown = checked_body(models.LetterBody, await service.http.get(f"{LETTERS}/{bad['id']}"))
    assert base64.b64decode(str(shown["original"])) == POISON[0].value
    assert shown["text"] == "\\xff\\x1b[31m{", "escaped: a terminal must not obey it"
    refused = await service.http.post(f"{LETTERS}/{bad['id']}/retry")
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "id")
    wrong = await service.http.post(f"{LETTERS}/{bad['id']}/retry", json={"text": ""})
    assert wrong.status_code == 422
    taken = await service.http.post(f"{LETTERS}/{bad['id']}/retry", json=RIGHT)
    assert taken.status_code == 202, taken.text
    answer = await service.application.query(
        "g", QueryRequest("What did Marie Curie discover?", after=taken.json()["token"])
    )
    assert [one.doc_id for one in answer.citations] == ["bytes"]
    again = await service.http.post(f"{LETTERS}/{bad['id']}/retry", json=RIGHT)
    assert again.status_code == 422, "nothing is done twice"
    assert [one["doc_id"] for one in await service.until("g", 1)] == ["schema"]
    assert {one["resolution"] for one in await service.until("g", 2, resolved=True)} == {"", "retried"}


async def test_record_without_a_graph_is_found_under_the_star_and_can_only_be_dropped(service: Service) -> None:
    """It cannot be published without a graph's name; once dropped, it is listed no more."""
    [letter] = await service.until("*", 1)
    assert (letter["graph"], letter["doc_id"]) == ("", "no-bar")
    for body in (None, RIGHT):
        refused = await service.http.post(f"{NAMELESS}/{letter['id']}/retry", json=body)
        assert refused.status_code == 422, refused.text
    assert (await service.http.get(f"{LETTERS}/{letter['id']}")).status_code == 404, "it is not of that graph"
    dropped = checked_body(models.LetterBody, await service.http.delete(f"{NAMELESS}/{letter['id']}"))
    assert dropped["resolution"] == "dropped"
    await service.until("*", 0)


@pytest.mark.parametrize(
    ("path", "field"),
    [("?limit=0", "limit"), ("?limit=501", "limit"), ("?limit=x", "limit"), ("?after=x", "after"), ("/1", "id")],
)
async def test_requests_for_letters_are_bounded_and_say_what_is_wrong(service: Service, path: str, field: str) -> None:
    """A page has a size, a cursor is one that the service returned, an id has a fixed form."""
    response = await service.http.get(LETTERS + path)
    assert (response.status_code, response.json()["error"]["field"]) == (422, field)


async def test_pages_of_letters_follow_each_other_over_http_and_grpc(service: Service) -> None:
    """With one letter per page both protocols list each letter once, in the same order."""
    stub = GraphtideStub(service.channel)
    over_http, over_grpc, after = [], [], ""
    while True:
        page = (await service.http.get(LETTERS, params={"limit": 1, "after": after})).json()
        same = await stub.ListDeadLetters(pb.DeadLetterQuery(graph="g", after=after, limit=1))
        over_http += [one["id"] for one in page["letters"]]
        over_grpc += [one.id for one in same.letters]
        assert page["next"] == same.next
        if not (after := page["next"]):
            break
    assert len(set(over_http)) == 2
    assert over_http == over_grpc


async def test_letters_pass_through_a_gateway_unchanged(service: Service) -> None:
    """A gateway, which has no graphs, shows, retries, corrects and drops them over gRPC; errors keep their class."""
    gateway = RemoteApplication(lambda: service.channel)
    async with http_service(create_app(gateway)) as url, httpx.AsyncClient(base_url=url, timeout=60) as http:
        listed = (await http.get(LETTERS)).json()
        assert listed == (await service.http.get(LETTERS)).json()
        for one in listed["letters"]:
            path = f"{LETTERS}/{one['id']}"
            assert (await http.get(path)).json() == (await service.http.get(path)).json()
        bad = next(one for one in listed["letters"] if one["doc_id"] == "schema")
        assert (await http.post(f"{LETTERS}/{bad['id']}/retry")).status_code == 422
        assert (await http.get(f"{LETTERS}/7-7")).status_code == 404
        taken = await http.post(f"{LETTERS}/{bad['id']}/retry", json={**RIGHT, "metadata": {"year": 1898}})
        assert taken.status_code == 202, taken.text
        other = next(one for one in listed["letters"] if one["doc_id"] == "bytes")
        assert (await http.delete(f"{LETTERS}/{other['id']}")).json()["resolution"] == "dropped"
    await service.until("g", 0)


async def test_command_line_deals_with_letters(service: Service, tmp_path: Path) -> None:
    """It lists a table, shows a safe form, takes a correction from a file, and drops; exit codes show failures."""
    table = await command("dlq", "list", "-g", "g", url=service.url)
    assert (table.returncode, "bytes" in table.stdout, "schema" in table.stdout) == (0, True, True), table.stderr
    listed = json.loads((await command("dlq", "list", "-g", "g", "--json", url=service.url)).stdout)["letters"]
    ids = {one["doc_id"]: one["id"] for one in listed}
    shown = await command("dlq", "show", ids["bytes"], "-g", "g", url=service.url)
    assert (shown.returncode, "\\xff\\x1b[31m{" in shown.stdout, "\x1b" in shown.stdout) == (0, True, False), (
        shown.stdout
    )
    refused = await command("dlq", "retry", ids["bytes"], "-g", "g", url=service.url)
    assert (refused.returncode, "send a correction" in refused.stderr) == (2, True), refused.stderr
    (tmp_path / "right.json").write_text(json.dumps(RIGHT))
    given = ("-g", "g", "--file", str(tmp_path / "right.json"), "--json")
    taken = await command("dlq", "retry", ids["bytes"], *given, url=service.url)
    assert taken.returncode == 0, taken.stderr
    assert json.loads(taken.stdout)["token"]
    discarded = await command("dlq", "discard", ids["schema"], "-g", "g", "--json", url=service.url)
    assert json.loads(discarded.stdout)["resolution"] == "dropped" and not discarded.stderr
    assert (await command("dlq", "show", "7-7", "-g", "g", url=service.url)).returncode == 3
    await service.until("g", 0)


@pytest.mark.thorough
async def test_cli_and_http_accept_the_old_words_with_a_notice(service: Service) -> None:
    """`dlq drop`, `--settled`, the query parameter `settled` and gRPC's DropDeadLetter work; both names are refused."""
    first, second = await service.until("g", 2)
    dropped = await command("dlq", "drop", str(first["id"]), "-g", "g", "--json", url=service.url)
    assert json.loads(dropped.stdout)["settled"] == "dropped"
    assert (
        dropped.stderr == "dlq drop is the old name of dlq discard, accepted until the next release: use dlq discard\n"
    )
    listed = await command("dlq", "list", "--settled", "-g", "g", "--json", url=service.url)
    assert "--settled is the old name of --resolved" in listed.stderr
    assert {each["settled"] for each in json.loads(listed.stdout)["letters"]} == {"", "dropped"}
    both = await command("dlq", "list", "--settled", "--resolved", "-g", "g", url=service.url)
    assert (both.returncode, "remove --settled" in both.stderr) == (2, True)
    path = "/v1/graphs/g/dead-letters"
    assert len((await service.http.get(f"{path}?settled=true")).json()["letters"]) == 2
    refused = await service.http.get(f"{path}?settled=true&resolved=true")
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "settled")
    stub = GraphtideStub(service.channel)
    ended = await stub.DropDeadLetter(pb.DeadLetterRef(graph="g", id=str(second["id"])))
    assert ended.resolution == "dropped"


def test_looking_at_letters_needs_read_and_ending_them_write() -> None:
    """The actions are the same over both protocols, and set explicitly."""
    letter = "/v1/graphs/{graph}/dead-letters/{letter}"
    routes = {
        ("GET", "/v1/graphs/{graph}/dead-letters"): ("ListDeadLetters", Action.READ),
        ("GET", letter): ("GetDeadLetter", Action.READ),
        ("POST", f"{letter}/retry"): ("RetryDeadLetter", Action.WRITE),
        ("DELETE", letter): ("DiscardDeadLetter", Action.WRITE),
    }
    for (method, template), (name, action) in routes.items():
        assert (http_action(method, template), rpc_action(name)) == (action, action)
