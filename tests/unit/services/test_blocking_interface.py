"""The blocking interface: the signatures of the asynchronous one, and Ctrl-C."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from anyio.from_thread import start_blocking_portal

import graphtide
import graphtide.sync
from graphtide.services.sdk import blocking, interface
from graphtide.services.sdk.calls.blocking_calls import BlockingCalls
from graphtide.services.sdk.standing import BlockingQuestions

TWINS = [
    (interface.Graph, blocking.Graph),
    (interface.Questions, BlockingQuestions),
    (interface.Database, blocking.Database),
]
OWN_TYPES = {"Graph.questions", "Database.graph"}
"""Members whose result is a blocking twin itself."""


def _public(kind: type) -> dict[str, Any]:
    return {name: member for name, member in vars(kind).items() if not name.startswith("_")}


@pytest.mark.parametrize(("asynchronous", "twin"), TWINS)
def test_blocking_twin_has_the_parameters_results_and_descriptions_of_each_method(
    asynchronous: type, twin: type
) -> None:
    """Names, kinds, defaults and annotations are equal; a stream is an Iterator. No method waits by `await`."""
    originals, twins = _public(asynchronous), _public(twin)
    assert sorted(twins) == sorted(originals)
    for name, original in originals.items():
        if isinstance(original, property):
            assert isinstance(twins[name], property)
            continue
        expected, found = inspect.signature(original), inspect.signature(twins[name])
        assert [*found.parameters.values()] == [*expected.parameters.values()], name
        returned = str(expected.return_annotation).replace("AsyncIterator", "Iterator")
        assert found.return_annotation == returned or f"{twin.__name__}.{name}" in OWN_TYPES
        assert twins[name].__doc__, name
        assert not inspect.isasyncgenfunction(twins[name]) and not inspect.iscoroutinefunction(twins[name])


def test_unknown_option_is_refused_by_its_name(tmp_path: Path) -> None:
    with graphtide.sync.open(tmp_path) as db, pytest.raises(TypeError, match="topk"):
        cast("Any", db.graph("g")).ask("Who?", topk=3)


def _interrupt() -> None:
    """Press Ctrl-C."""
    thread = threading.main_thread().ident
    assert thread is not None
    signal.pthread_kill(thread, signal.SIGINT)


class InterruptedGraph:
    """Streams and a call that have one item, and during the next step of which Ctrl-C is pressed."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.questions = SimpleNamespace(watch=self._stream)
        self.ask_stream = self.changes = self._stream

    async def _stream(self, name: str) -> AsyncIterator[str]:
        try:
            yield "first"
            _interrupt()
            await asyncio.Future()
        finally:
            await asyncio.sleep(0)  # closing takes several passes of the loop
            self.closed.append(name)

    async def wait(self, token: str, timeout_s: float = 0.0) -> int:
        try:
            _interrupt()
            return await asyncio.Future()
        finally:
            self.closed.append(token)

    async def stats(self) -> str:
        return "usable"


@pytest.mark.parametrize("member", ["ask_stream", "changes", "watch"])
def test_interrupted_stream_is_closed_and_leaves_the_graph_usable(member: str) -> None:
    """In whatever step the signal arrives: KeyboardInterrupt alone, no later read, and one end of the stream."""
    source = InterruptedGraph()
    with start_blocking_portal() as portal:
        graph = cast("Any", blocking.Graph(BlockingCalls(portal), cast("Any", source)))
        read = graph.questions.watch if member == "watch" else getattr(graph, member)
        for number in range(30):
            items = read(str(number))
            assert next(items) == "first"
            with pytest.raises(KeyboardInterrupt) as raised:
                next(items)
            assert raised.value.__context__ is None or not isinstance(raised.value.__context__, RuntimeError)
            assert list(items) == []
            assert source.closed == [str(closed) for closed in range(number + 1)]
            assert graph.stats() == "usable"


def test_interrupted_call_is_cancelled_and_leaves_the_graph_usable() -> None:
    """The portal's end waits for all tasks, so one that is left would never let it end."""
    source = InterruptedGraph()
    with start_blocking_portal() as portal:
        graph = cast("Any", blocking.Graph(BlockingCalls(portal), cast("Any", source)))
        for number in range(30):
            with pytest.raises(KeyboardInterrupt):
                graph.wait(str(number))
            assert graph.stats() == "usable"
    assert sorted(source.closed) == sorted(map(str, range(30)))


def test_interrupted_answer_leaves_the_database_open_and_closable(tmp_path: Path) -> None:
    """An own generator never returns; after Ctrl-C the same database answers, and closes."""

    async def generator(question: str, passages: Sequence[graphtide.ContextPassage]) -> str:
        if question == "Who leads?":
            _interrupt()
            await asyncio.Future()
        return f"{passages[0].text} [1]"

    with graphtide.sync.open(tmp_path, generator=generator) as db:
        graph = db.graph("g")
        receipt = graph.add("a", "Ana Ruiz leads.", entities=[], facts=[])
        with pytest.raises(KeyboardInterrupt):
            list(graph.ask_stream("Who leads?", after=receipt.token))
        assert graph.ask("Who is named?").answer == "Ana Ruiz leads. [1]"
    with graphtide.sync.open(tmp_path, generator=generator) as db:
        assert db.graphs() == {"g": 1}
