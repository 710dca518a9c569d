"""The facts of a question's passages are read for an answer that a generator writes, and for no other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from graphtide.graph.validity.intervals import ValidityReader
from graphtide.graph.view import LiveView
from graphtide.infra.settings import Settings
from graphtide.services.application import Answer, QueryRequest
from graphtide.services.query import context
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenFact

QUESTION = "Who is the mayor of Lyon?"


async def test_facts_are_read_only_where_an_answer_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other fields of the answer are the same, and so are the first and the last event of a stream."""
    read: list[int] = []
    facts = context._facts

    def counting(view: LiveView, chunk: int, validity: ValidityReader) -> Iterator[str]:
        read.append(chunk)
        return facts(view, chunk, validity)

    monkeypatch.setattr(context, "_facts", counting)
    async with open_application(Settings(data=tmp_path)) as application:
        given = DocumentMessage(
            "notes", "a", "Ada is the mayor of Lyon.", facts=(GivenFact("Ada", "mayor of", "Lyon"),)
        )
        token = (await application.publish([given])).token
        retrieved = QueryRequest(QUESTION, after=token, generate=False)
        found = await application.query("notes", retrieved)
        streamed = [each async for each in application.stream("notes", retrieved)]
        assert not read
        written = await application.query("notes", QueryRequest(QUESTION, after=token))
        assert read and "Ada" in written.answer
    assert not found.answer and found.passages and found.edges
    assert (found.passages, found.nodes, found.edges) == (written.passages, written.nodes, written.edges)
    assert [each for each in streamed if isinstance(each, Answer)] == [found, found]
