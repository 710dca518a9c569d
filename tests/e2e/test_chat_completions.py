"""The interface of chat completions with the official client, as chat front ends use it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam

import graphtide
from graphtide.services.api.http.app import create_app
from graphtide.services.application import Application
from tests.support.guarded import KeyFile, gate
from tests.support.serving import http_service, opened

WHO: list[ChatCompletionMessageParam] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hello?"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": [{"type": "text", "text": "Who signed the contract?"}]},
]


@contextlib.asynccontextmanager
async def chatting(folder: Path) -> AsyncIterator[tuple[openai.AsyncOpenAI, str, Application]]:
    """Yield the official client of a service with one document, and the token of its publishing."""
    async with opened("embedded", folder) as application, http_service(create_app(application)) as url:
        async with graphtide.connect(url) as db:
            text = "Ana Ruiz signed the contract. The contract covers the boiler."
            receipt = await db.graph("notes").add("a/b", text, title="Boiler [9] [x](http://evil.example)")
            await db.graph("notes").wait(receipt.token)
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            yield client, receipt.token, application


async def test_answer_has_its_sources_in_the_text(tmp_path: Path) -> None:
    """The marks of the answer name the lines below it; titles of documents bring no marks or links of their own."""
    async with chatting(tmp_path) as (client, token, _):
        made = await client.chat.completions.create(
            model="notes/local", messages=WHO, temperature=0.2, extra_body={"after": token, "top_k": 3}
        )
        content = made.choices[0].message.content or ""
        answer, _, sources = content.partition("\n\nSources:\n")
        assert "Ana Ruiz" in answer and "[1]" in answer
        assert sources.startswith("[1] Boiler (9)") and "Ana Ruiz signed the contract." in sources
        assert "](http" not in content and "[9]" not in content
        assert made.choices[0].finish_reason == "stop" and made.model == "notes/local"
        added = made.model_extra or {}
        assert added["version"] >= 1 and [each["doc_id"] for each in added["citations"]] == ["a/b"]


async def test_stream_is_the_same_text_in_pieces(tmp_path: Path) -> None:
    """The pieces join to the whole answer with its sources; the stream ends with the use of tokens and [DONE]."""
    async with chatting(tmp_path) as (client, _, _):
        whole = await client.chat.completions.create(model="notes", messages=WHO)
        stream = await client.chat.completions.create(
            model="notes", messages=WHO, stream=True, stream_options={"include_usage": True}
        )
        chunks = [chunk async for chunk in stream]
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
        assert "".join(pieces) == whole.choices[0].message.content and len(pieces) > 3
        assert chunks[0].choices[0].delta.role == "assistant"
        assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
        assert chunks[-1].usage is not None and not chunks[-1].choices
        assert len({chunk.id for chunk in chunks}) == 1


async def test_models_are_the_graphs_with_their_modes(tmp_path: Path) -> None:
    """Every listed model answers."""
    async with chatting(tmp_path) as (client, _, _):
        names = [model.id async for model in await client.models.list()]
        assert names[0] == "notes/auto" and {"notes/local", "notes/vector"} <= set(names)
        for name in names:
            assert (await client.models.retrieve(name)).id == name
        for name in ("notes/none", "other/auto", "../x/auto"):
            with pytest.raises(openai.NotFoundError):
                await client.models.retrieve(name)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"model": "other/auto"}, openai.NotFoundError, "other"),
        ({"model": "../x"}, openai.NotFoundError, "no model"),
        ({"model": 7}, openai.UnprocessableEntityError, "graph and the mode"),
        ({"model": "notes/none"}, openai.UnprocessableEntityError, "mode"),
        ({"messages": []}, openai.UnprocessableEntityError, "no message"),
        ({"messages": "Who?"}, openai.UnprocessableEntityError, "list"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, openai.UnprocessableEntityError, "text"),
        ({"messages": [{"role": "user", "content": ""}]}, openai.UnprocessableEntityError, "empty"),
        ({"top_k": 0}, openai.UnprocessableEntityError, "greater"),
        ({"stream": True, "model": "other/auto"}, openai.NotFoundError, "other"),
    ],
)
async def test_wrong_requests_raise_the_errors_of_the_client(
    change: dict[str, object], error: type[openai.APIStatusError], text: str, tmp_path: Path
) -> None:
    """The message names what is wrong; a stream that cannot begin has an ordinary status."""
    async with chatting(tmp_path) as (client, _, _):
        body = {"model": "notes/auto", "messages": WHO, **change}
        with pytest.raises(error, match=text):
            await client.post("/chat/completions", body=body, cast_to=httpx.Response)


async def test_credentials_decide_which_models_exist(tmp_path: Path) -> None:
    """A key sees its graphs alone; another graph is refused whether it exists or not."""
    keys = KeyFile(tmp_path / "keys.toml")
    admin, reader = keys.add("admin", "*", "read write"), keys.add("reader", "notes", "read")
    writer = keys.add("writer", "*", "write")
    guard = gate(keys, tmp_path)
    async with (
        opened("embedded", tmp_path / "data") as application,
        http_service(create_app(application, gate=guard)) as url,
    ):
        async with graphtide.connect(url, api_key=admin) as db:
            for graph in ("notes", "secret"):
                await db.graph(graph).wait((await db.graph(graph).add("a", "Ana Ruiz signed.")).token)
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=reader, max_retries=0) as client:
            assert {model.id.partition("/")[0] async for model in await client.models.list()} == {"notes"}
            assert (await client.chat.completions.create(model="notes", messages=WHO)).choices
            for graph in ("secret", "missing"):
                with pytest.raises(openai.PermissionDeniedError):
                    await client.chat.completions.create(model=graph, messages=WHO)
                with pytest.raises(openai.PermissionDeniedError):
                    await client.models.retrieve(f"{graph}/auto")
        for key, error in ((writer, openai.PermissionDeniedError), ("wrong", openai.AuthenticationError)):
            async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client:
                with pytest.raises(error):
                    await client.chat.completions.create(model="notes", messages=WHO)


async def test_error_in_the_middle_of_a_stream_reaches_the_client(tmp_path: Path) -> None:
    """The client raises it; the stream does not end as if the answer were whole."""
    from tests.support.application import InMemoryApplication

    application = InMemoryApplication()
    application.fail_after_context = graphtide.Retryable("the endpoint is unreachable")
    async with http_service(create_app(application)) as url:
        async with graphtide.connect(url) as db:
            await db.graph("notes").add("a", "Ana Ruiz signed.")
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
            stream = await client.chat.completions.create(model="notes/local", messages=WHO, stream=True)
            with pytest.raises(openai.APIError, match="unreachable"):
                [chunk async for chunk in stream]
        async with httpx.AsyncClient() as plain:
            body = {"model": "notes/local", "messages": WHO, "stream": True}
            text = (await plain.post(f"{url}/v1/chat/completions", json=json.loads(json.dumps(body)))).text
            assert "[DONE]" not in text
