"""The Python interface on the embedded service: documents, questions, bulk loads, own models, blocking twins."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import graphtide
import graphtide.sync

TEXT = "Ana Ruiz signed the contract for the boiler."


async def test_graph_answers_from_what_was_added_edited_and_deleted(tmp_path: Path) -> None:
    """Each answer waits for the token of the change before it."""
    async with graphtide.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        first = await notes.add("boiler", TEXT, title="Boiler", metadata={"team": "ops"})
        answer = await notes.ask("Who signed the contract?", after=first.token)
        assert "Ana Ruiz" in answer.answer and [one.doc_id for one in answer.citations] == ["boiler"]
        second = await notes.add("boiler", TEXT.replace("Ana Ruiz", "Kenji Mori"))
        assert "Kenji Mori" in (await notes.ask("Who signed the contract?", after=second.token)).answer
        third = await notes.delete("boiler")
        assert await notes.wait(third.token) == (await notes.stats()).version
        assert not (await notes.ask("Who signed the contract?")).citations
        with pytest.raises(graphtide.Invalid, match="after"):
            await notes.ask("Who signed the contract?", after="nonsense")
        assert await db.graphs() == {"notes": (await notes.digest()).version}
    async with graphtide.open(tmp_path / "data") as db:
        with pytest.raises(graphtide.NotFound):
            await db.graph("notes").delete("boiler")


async def test_stream_begins_with_the_context_and_ends_with_the_whole_answer(tmp_path: Path) -> None:
    """The pieces in between are the text of the last answer."""
    async with graphtide.open(tmp_path / "data") as db:
        receipt = await db.graph("g").add("a", TEXT)
        got = [piece async for piece in db.graph("g").ask_stream("Who signed the contract?", after=receipt.token)]
    assert isinstance(got[0], graphtide.Answer) and not got[0].answer and got[0].passages
    assert isinstance(got[-1], graphtide.Answer)
    assert "".join(piece.text for piece in got[1:-1] if isinstance(piece, graphtide.AnswerChunk)) == got[-1].answer


@pytest.mark.parametrize("kind", ["list", "generator", "async generator"])
async def test_bulk_load_accepts_the_right_documents_and_lists_the_others(kind: str, tmp_path: Path) -> None:
    """There are more documents than one batch holds; the receipt's token covers all of them."""
    good: list[Mapping[str, Any]] = [{"id": f"d{n}", "text": f"Person {n} lives in Town {n}."} for n in range(130)]
    documents = [*good[:70], {"id": "", "text": "x"}, {"id": "empty"}, *good[70:]]

    async def asynchronous() -> AsyncIterator[Mapping[str, Any]]:
        for document in documents:
            yield document

    kinds: dict[str, Any] = {"list": documents, "generator": iter(documents), "async generator": asynchronous()}
    seen: list[int] = []
    async with graphtide.open(tmp_path / "data") as db:
        receipt = await db.graph("g").add_many(kinds[kind], on_progress=lambda made: seen.append(made.accepted))
        await db.graph("g").wait(receipt.token)
        stats = await db.graph("g").stats()
    assert (receipt.accepted, [one.index for one in receipt.rejected]) == (130, [70, 71])
    assert [one.field for one in receipt.rejected] == ["id", "text"]
    assert seen == [100, 130] and stats.counts["documents"] == 130


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda graph: graph.ask("Who?"), graphtide.NotFound),
        (lambda graph: graph.add("a", ""), graphtide.Invalid),
        (lambda graph: graph.add("", "text"), graphtide.Invalid),
        (lambda graph: graph.add("a", "text", occurred_at="soon"), graphtide.Invalid),
        (lambda graph: graph.ask(""), graphtide.Invalid),
        (lambda graph: graph.ask("\ud800"), graphtide.Invalid),
        (lambda graph: graph.ask("Who?", top_k=0), graphtide.Invalid),
        (lambda graph: graph.entity("unknown"), graphtide.NotFound),
    ],
)
async def test_wrong_calls_raise_an_error_of_the_tree(call: Any, error: type[Exception], tmp_path: Path) -> None:
    """Each error names the invalid argument; nothing is changed."""
    async with graphtide.open(tmp_path / "data") as db:
        with pytest.raises(error):
            await call(db.graph("g"))
        with pytest.raises(graphtide.Invalid):
            db.graph("../g")
        assert await db.graphs() == {}


WRONG_FILTERS: list[tuple[dict[str, Any], str, str]] = [
    ({"occurred_from": "yesterday"}, "filters.occurred_from", "not an ISO date"),
    ({"occurred_to": "2024-13"}, "filters.occurred_to", "not an ISO date"),
    ({"occurred_from": "2025", "occurred_to": "2024"}, "filters.occurred_from", "is later than"),
    ({"occurred_from": 2024}, "filters.occurred_from", "must be a string, not a number"),
    ({"as_of": "soon"}, "filters.as_of", "not an ISO date"),
    ({"doc_ids": tuple(map(str, range(1001)))}, "filters.doc_ids", "has 1001 entries; the limit is 1000"),
    ({"sources": tuple(map(str, range(1001)))}, "filters.sources", "has 1001 entries; the limit is 1000"),
    ({"doc_ids": "note-1"}, "filters.doc_ids", "must be a list, not a string"),
    ({"doc_ids": {"note-1"}}, "filters.doc_ids", "must be a list, not a value of type set"),
    ({"doc_ids": ("note-1", 2)}, "filters.doc_ids[1]", "must be a string, not a number"),
    ({"sources": ("\0",)}, "filters.sources[0]", "contains a NUL character"),
    ({"metadata": "team"}, "filters.metadata", "must be a tuple of (key, value) pairs, not str"),
    ({"metadata": (("team",),)}, "filters.metadata", "not a pair"),
    ({"metadata": (("team", "a"), ("team", "b"))}, "filters.metadata", "'team' twice"),
    ({"metadata": (("team", object()),)}, "filters.metadata", "a value of type object"),
    ({"metadata": (("team", {1: 2}),)}, "filters.metadata", "a key of type int"),
    ({"metadata": (("team", float("nan")),)}, "filters.metadata", "not finite"),
    ({"metadata": (("team", "x" * 70_000),)}, "filters.metadata", "the limit is 65536"),
]


async def test_wrong_filters_are_refused_with_the_errors_of_http(tmp_path: Path) -> None:
    """`ask` and `ask_stream` name the field; the graph exists, so nothing else is wrong with the question."""
    async with graphtide.open(tmp_path / "data") as db:
        graph = db.graph("g")
        receipt = await graph.add("note-1", "Ana Ruiz leads the workshop.", entities=[], facts=[])
        await graph.wait(receipt.token)
        for conditions, field, message in WRONG_FILTERS:
            filters = graphtide.Filters(**conditions)
            with pytest.raises(graphtide.Invalid) as asked:
                await graph.ask("Who leads?", filters=filters, generate=False)
            with pytest.raises(graphtide.Invalid) as streamed:
                await anext(aiter(graph.ask_stream("Who leads?", filters=filters)))
            assert asked.value.field == streamed.value.field == field, conditions
            assert message in asked.value.message and asked.value.message == streamed.value.message
        with pytest.raises(graphtide.Invalid, match=r"must be graphtide\.Filters, not dict"):
            await graph.ask("Who leads?", filters={"doc_ids": ["note-1"]})  # type: ignore[arg-type]
        with pytest.raises(graphtide.Invalid) as dated:
            await graph.ask("Who leads?", as_of="soon")
        assert dated.value.field == "as_of"


async def test_right_filters_reach_the_answer(tmp_path: Path) -> None:
    """Ids, sources, dates and metadata each select the one document that meets them."""
    async with graphtide.open(tmp_path / "data") as db:
        graph, receipt = db.graph("g"), graphtide.Receipt("", 0)
        for year, team in ((2019, "ops"), (2021, "lab")):
            receipt = await graph.add(
                f"n{year}", f"Ana Ruiz led {team}.", source=team, occurred_at=f"{year}-05-01", metadata={"team": team}
            )
        for conditions in (
            {"doc_ids": ("n2019",)},
            {"sources": ("ops",)},
            {"metadata": (("team", "ops"),)},
            {"occurred_from": "2019", "occurred_to": "2020-01"},
        ):
            found = await graph.ask(
                "Who led?", mode="vector", after=receipt.token, filters=graphtide.Filters(**conditions), generate=False
            )
            assert {passage.doc_id for passage in found.passages} == {"n2019"}, conditions


async def test_folder_is_refused_when_it_is_open_already(tmp_path: Path) -> None:
    """One process holds a data folder at a time."""
    async with graphtide.open(tmp_path / "data"):
        with pytest.raises(graphtide.Broken):
            async with graphtide.open(tmp_path / "data"):
                pass


def lengths(texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed in two dimensions: an embedder of the test's own."""
    return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


async def extract(text: str, title: str) -> Mapping[str, Any]:
    """Read `subject predicate object` off the words of a text: an extractor of the test's own."""
    subject, predicate, target = text.split()
    return {"facts": [{"subject": subject, "predicate": predicate, "object": target}]}


def answer(question: str, passages: Sequence[graphtide.ContextPassage]) -> str:
    """Quote the first passage, and cite an unknown one: a generator of the test's own."""
    return f"{passages[0].text} [1] [9]"


async def test_own_models_take_the_place_of_those_of_the_settings(tmp_path: Path) -> None:
    """Facts, vectors and the answer come from the functions; the folder requires the same embedder later."""
    async with graphtide.open(tmp_path / "d", extractor=extract, embedder=lengths, generator=answer) as db:
        receipt = await db.graph("g").add("a", "Ana likes Rome")
        got = await db.graph("g").ask("Ana?", after=receipt.token)
        assert [fact.object for fact in (await db.graph("g").document("a")).facts] == ["Rome"]
    assert got.answer.startswith("Ana likes Rome [1]") and "[9]" not in got.answer
    assert [one.doc_id for one in got.citations] == ["a"]
    with pytest.raises(graphtide.Broken, match="lengths"):
        async with graphtide.open(tmp_path / "d"):
            pass


@pytest.mark.parametrize(
    "fact",
    [
        {"subject": "only"},
        {"subject": "half \ud800", "predicate": "is", "object": "it"},
        {"subject": "a", "predicate": "is", "object": "b", "description": "nul \0"},
    ],
    ids=["a part is missing", "half of a surrogate pair", "a NUL character"],
)
async def test_document_fails_with_the_reason_when_an_own_extractor_returns_nonsense(
    tmp_path: Path, fact: dict[str, str]
) -> None:
    """The revision ends as failed, with the reason; the next document is read."""

    def extractor(text: str, title: str) -> Mapping[str, Any]:
        return {"facts": [fact]} if "bad" in text else {}

    async with graphtide.open(tmp_path / "d", extractor=extractor) as db:
        await db.graph("g").add("bad", "bad text")
        receipt = await db.graph("g").add("good", "good text")
        await db.graph("g").wait(receipt.token)
        status = await db.graph("g").document("bad")
        assert status.state == "failed" and "cannot be read" in status.reason
        assert (await db.graph("g").document("good")).state == "applied"


def test_blocking_twins_do_the_same_without_an_event_loop(tmp_path: Path) -> None:
    """Two databases are opened one after the other, on the same folder."""
    with graphtide.sync.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        receipt = notes.add("boiler", TEXT)
        assert "Ana Ruiz" in notes.ask("Who signed the contract?", after=receipt.token).answer
        digest = notes.digest()
        assert notes.verify().differences == ()
    with graphtide.sync.open(tmp_path / "data") as db:
        assert db.graph("notes").digest() == digest
        pieces = list(db.graph("notes").ask_stream("Who signed the contract?"))
        assert isinstance(pieces[-1], graphtide.Answer) and "Ana Ruiz" in pieces[-1].answer
        with pytest.raises(graphtide.NotFound):
            db.graph("other").stats()


def test_every_public_name_is_there_and_importing_costs_nothing() -> None:
    """`import graphtide` loads neither numpy nor the service."""
    assert sorted(graphtide.__all__, key=str) == sorted(set(graphtide.__all__), key=str)
    for name in graphtide.__all__:
        assert getattr(graphtide, name) is not None
    script = "import sys, graphtide; print([n for n in ('numpy', 'grpc', 'fastapi', 'networkit') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = graphtide.nothing_of_the_kind


async def test_calls_of_many_tasks_are_served_at_once(tmp_path: Path) -> None:
    """A database is safe to use from any number of tasks of its loop."""
    async with graphtide.open(tmp_path / "data") as db:
        graph = db.graph("g")
        receipts = await asyncio.gather(*(graph.add(f"d{n}", f"Person {n} lives in Town {n}.") for n in range(20)))
        await asyncio.gather(*(graph.wait(receipt.token) for receipt in receipts))
        assert (await graph.stats()).counts["documents"] == 20
