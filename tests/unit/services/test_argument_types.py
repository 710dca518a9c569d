"""Arguments of a wrong type: the same error in the process and over HTTP, before anything is done."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pytest

import graphtide
from graphtide.infra.settings import SettingsError, load_settings
from graphtide.services.api.schema.limits import RequestLimits
from graphtide.services.sdk import interface
from graphtide.services.sdk.embedded import EmbeddedDatabase
from graphtide.services.sdk.questions import query_request, question_json
from graphtide.services.sdk.remote.database import RemoteDatabase

PARTS = {"db": interface.Database, "graph": interface.Graph, "questions": interface.Questions}
CHECKED_BY_THE_CALL = {("graph", "add_many", "documents"), *(
    (part, name, "filters") for part, name in (("graph", "ask"), ("graph", "ask_stream"), ("questions", "put"))
)}  # fmt: skip
"""Parameters whose values the call itself checks."""
WRONG = object()


def _parameters() -> Iterator[tuple[str, str, str]]:
    """Yield each parameter of the interface."""
    for part, kind in PARTS.items():
        for name, method in vars(kind).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                yield from ((part, name, parameter) for parameter in list(inspect.signature(method).parameters)[1:])


def _part(database: Any, part: str) -> Any:
    return {"db": database, "graph": database.graph("g"), "questions": database.graph("g").questions}[part]


async def _refusal(database: Any, part: str, name: str, parameter: str) -> graphtide.Invalid:
    method = getattr(_part(database, part), name)
    needed: dict[str, object] = {
        each.name: "x"
        for each in inspect.signature(method).parameters.values()
        if each.default is inspect.Parameter.empty and each.name not in ("community", "documents")
    }
    needed |= {"community": 1} if name == "community" else {}
    with pytest.raises(graphtide.Invalid) as refused:
        made = method(**{**needed, **({"documents": []} if name == "add_many" else {}), parameter: WRONG})
        await (anext(made) if inspect.isasyncgen(made) else made)
    return refused.value


@pytest.mark.parametrize(("part", "name", "parameter"), sorted(set(_parameters()) - CHECKED_BY_THE_CALL))
async def test_argument_of_a_wrong_type_is_refused_equally(part: str, name: str, parameter: str) -> None:
    """Neither has a service: the check comes first. The error names the field and both types."""
    databases = (
        EmbeddedDatabase(cast("Any", None), RequestLimits()),
        RemoteDatabase(cast("Any", None)),
    )
    embedded, remote = [await _refusal(database, part, name, parameter) for database in databases]
    assert (embedded.field, embedded.message) == (remote.field, remote.message)
    assert embedded.field == {"doc_id": "id", "entity_id": "entity"}.get(parameter, parameter)
    assert embedded.message.startswith("must be ") and embedded.message.endswith(", not a value of type object")


async def test_arguments_of_right_types_reach_the_call() -> None:
    """Subclasses of the types are right ones, and None is the empty text of an optional parameter."""

    class Name(str):
        __slots__ = ()

    graph = EmbeddedDatabase(cast("Any", None), RequestLimits()).graph(Name("g"))
    with pytest.raises(AttributeError):  # there is no application
        await graph.entities(q=cast("Any", None), type=Name("person"), limit=7)
    with pytest.raises(TypeError, match="topk"):
        await cast("Any", graph).ask("Who?", topk=3)
    with pytest.raises(graphtide.Invalid, match="limit: must be an integer, not a boolean"):
        await graph.entities(limit=True)


@pytest.mark.parametrize("read_your_writes", [False, True])
async def test_none_is_the_empty_text_of_every_optional_parameter(tmp_path: Path, read_your_writes: bool) -> None:
    """No call passes None on as the text "None"."""
    none = cast("Any", None)
    async with graphtide.open(tmp_path) as db:
        graph = db.graph("g", read_your_writes=read_your_writes)
        written = await graph.add("a", "Ana Ruiz leads.", title=none, entities=[], facts=[])
        await graph.wait(written.token)
        answer = await graph.ask("Who leads?", after=none, as_of=none, at=none, generate=False)
        assert answer.version
        assert await anext(graph.ask_stream("Who leads?", after=none))
        assert (await graph.documents(prefix=none, state=none, source=none, cursor=none)).documents
        assert [each async for each in graph.changes(after=none, entity=none, type=none, follow=False)] == []
        await graph.questions.put("q", "Who leads?", as_of=none)
        changed = await graph.add("b", "Kenji Mori leads.", entities=[], facts=[])
        await graph.wait(changed.token)
        assert (await anext(aiter(graph.questions.watch("q", after=none)))).seq


async def test_integers_and_mappings_of_other_types_are_those_of_json(tmp_path: Path) -> None:
    """They are checked as integers and objects, so each way to a graph takes them, for each parameter."""
    options = MappingProxyType({"near": 2})
    filters, limits = None, RequestLimits()
    arguments = {"question": "Who?", "top_k": np.int64(3), "level": None, "options": options}
    assert query_request(arguments, filters, "", 1.0, limits).top_k == 3
    sent = json.loads(question_json(arguments, filters, "").body)
    assert (sent["top_k"], sent["options"]) == (3, {"near": 2})
    async with graphtide.open(tmp_path) as db:
        graph = db.graph("g", read_your_writes=True)
        await graph.add("a", "Ana Ruiz leads.", entities=[], facts=[])
        await graph.entities(limit=cast("int", np.int64(3)))
        asked = await graph.questions.put("q", "Who leads?", top_k=cast("int", np.int64(3)), options=options)
        assert asked.top_k == 3


async def test_scalars_of_numpy_are_those_of_json(tmp_path: Path) -> None:
    """Its booleans are no subclass of bool: they decide as those do, also inside of documents, options and filters."""
    yes, no, three = cast("Any", np.bool_(True)), cast("Any", np.bool_(False)), cast("Any", np.int64(3))
    values = {"yes": yes, "count": three, "share": np.float32(0.5), "deep": [{"no": no}]}
    filters = graphtide.Filters(metadata=(("yes", yes), ("count", three)))
    async with graphtide.open(tmp_path) as db:
        graph = db.graph("g")
        await graph.add("a", "Ana Ruiz leads.", metadata=values, entities=[], facts=[])
        made = await graph.add_many([{"id": "b", "text": "Kenji Mori leads.", "metadata": values}])
        assert not made.rejected
        await graph.wait(made.token)
        assert (await graph.document("b")).metadata == (await graph.document("a")).metadata
        asked = await graph.ask("Who leads?", generate=no, exact=yes, options={"near": three}, filters=filters)
        assert asked.answer == "" and {each.doc_id for each in asked.passages} == {"a", "b"}
        assert [each async for each in graph.changes(after="v0", follow=no)]
        sent = json.loads(question_json({"question": "Who?", "exact": yes}, filters, "").body)
        assert sent["exact"] is True and sent["filters"]["metadata"] == {"yes": True, "count": 3}
        wrong: list[tuple[object, str]] = [
            (np.array([1]), "numpy.ndarray, which JSON does not have; convert it to one of str, int"),
            (np.datetime64("2026-05-01"), "numpy.datetime64, which JSON does not have"),
        ]
        for value, message in wrong:
            with pytest.raises(graphtide.Invalid, match=f"metadata: contains a value of type {message}"):
                await graph.add("c", "Ana Ruiz leads.", metadata={"value": value})
            refused = (await graph.add_many([{"id": "c", "text": "x", "metadata": {"value": value}}])).rejected
            assert message in refused[0].message
        with pytest.raises(graphtide.Invalid, match="generate: must be true or false, not a value of type numpy"):
            await graph.ask("Who leads?", generate=cast("Any", np.array([True])))


class Folder:
    """A path of another library."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __fspath__(self) -> str:
        return self._path


@pytest.mark.parametrize("kind", [str, Path, PurePath, Folder])
async def test_data_folder_is_a_path_of_any_type(tmp_path: Path, kind: type) -> None:
    async with graphtide.open(kind(str(tmp_path / "data"))) as db:
        assert await db.graphs() == {}
    assert (tmp_path / "data").is_dir()


OPENED: list[tuple[str, dict[str, Any], str]] = [
    ("open", {"data": 7}, "data: must be a path, not a number"),
    ("open", {"data": "x", "settings": ["a"]}, "settings: must be an object, not a list"),
    ("open", {"data": "x", "embedder": 7}, "embedder: must be a function, not a number"),
    ("connect", {"url": 7}, "url: must be a string, not a number"),
    ("connect", {"url": "http://x", "timeout": "long"}, "timeout: must be a number, not a string"),
    ("connect", {"url": "http://x", "retries": None}, "retries: must be an integer, not null"),
    ("connect", {"url": "http://x", "api_key": 7}, "api_key: must be a string, not a number"),
]


@pytest.mark.parametrize(("name", "arguments", "message"), OPENED)
def test_wrong_arguments_of_open_and_connect_are_invalid(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(graphtide.Invalid) as refused:
        getattr(graphtide, name)(**arguments)
    assert str(refused.value) == message


async def test_wrong_setting_of_open_names_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the argument, the environment or the file, whichever has the setting; never another one."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(graphtide.Broken) as wrong:
        async with graphtide.open("data", settings={"llm_concurrency": 0}):
            pass
    assert str(wrong.value).startswith("llm_concurrency in the argument settings of open() is wrong: ")
    monkeypatch.setenv("GRAPHTIDE_LLM_CONCURRENCY", "0")
    with pytest.raises(graphtide.Broken) as wrong:
        async with graphtide.open("data", settings={"llm_timeout_s": 5}):
            pass
    assert str(wrong.value).startswith("GRAPHTIDE_LLM_CONCURRENCY in the environment is wrong: ")
    monkeypatch.delenv("GRAPHTIDE_LLM_CONCURRENCY")
    file = tmp_path / "graphtide.toml"
    file.write_text("llm_concurrency = 0\n")
    with pytest.raises(graphtide.Broken) as wrong:
        async with graphtide.open("data"):
            pass
    assert str(wrong.value).startswith("llm_concurrency in graphtide.toml is wrong: ")
    file.unlink()
    with pytest.raises(SettingsError, match="llm_timeout_s in the command line is wrong: "):
        load_settings({"llm_timeout_s": -1})
