"""Own embedders that return unusable vectors: one document fails, with the reason, and the rest continues."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphtide
from graphtide.services.sdk.callables import CallableEmbedder
from tests.support.seeds import seeds

D = 4
Wrong = Callable[[list[list[float]]], Any]


class TensorWithGradient:
    """An array that refuses its conversion, as a tensor of torch does while it records a gradient."""

    def __array__(self, *_arguments: object, **_options: object) -> object:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad")


WRONG: dict[str, tuple[Wrong, str]] = {
    "other dimension": (lambda rows: [[1.0, 2.0] for _ in rows], "2 dimensions after 4: return vectors of one length"),
    "mixed dimensions": (lambda rows: [*rows[:-1], [1.0], [1.0, 2.0]], "no vectors of numbers"),
    "nan": (lambda rows: [[float("nan")] * D for _ in rows], "not finite: return finite numbers"),
    "infinite": (lambda rows: [[float("inf")] * D for _ in rows], "not finite: return finite numbers"),
    "zero": (lambda rows: [[0.0] * D for _ in rows], "zero or not finite: return finite numbers"),
    "text": (lambda rows: [["x"] * D for _ in rows], "no vectors of numbers"),
    "complex": (lambda rows: [[1j] * D for _ in rows], "no vectors of numbers (complex numbers)"),
    "object": (lambda _rows: object(), "no vectors of numbers"),
    "gradient": (lambda _rows: TensorWithGradient(), "no vectors of numbers (Can't call numpy() on Tensor"),
    "none": (lambda _rows: None, "returned shape () for 1 texts: return one vector for each text"),
    "too few": (lambda rows: rows[:-1], "texts: return one vector for each text"),
}


class Embedder:
    """An embedder whose vectors are wrong for texts with the word WRONG."""

    name = "own"

    def __init__(self, wrong: Wrong) -> None:
        self._wrong = wrong

    def __call__(self, texts: Sequence[str]) -> Any:
        rows = [[1.0 + len(text), 2.0, 3.0, 4.0] for text in texts]
        return self._wrong(rows) if any("WRONG" in text for text in texts) else rows


@pytest.mark.parametrize("name", WRONG)
async def test_wrong_vector_fails_its_document_alone_and_says_why(tmp_path: Path, name: str) -> None:
    """Later documents of this graph and of another one are applied, and so is a right revision of the failed one."""
    wrong, reason = WRONG[name]
    async with graphtide.open(tmp_path, embedder=Embedder(wrong)) as db:
        first, other = db.graph("first", read_your_writes=True), db.graph("other", read_your_writes=True)
        await first.add("a", "Ana Ruiz leads.", entities=[], facts=[])
        assert (await first.document("a")).state == "applied"
        await first.add("b", "WRONG text.", entities=[], facts=[])
        status = await first.document("b")
        assert status.state == "failed"
        assert status.reason.startswith("the embedder own returned ") and reason in status.reason
        assert status.reason.endswith(", and publish a failed document again")
        with pytest.raises(graphtide.Rejected, match="the embedder own returned"):
            await first.ask("WRONG?", mode="vector", generate=False)
        await first.add("c", "Kenji Mori leads.", entities=[], facts=[])
        await other.add("a", "Mara Voss leads.", entities=[], facts=[])
        await first.add("b", "Right text.", entities=[], facts=[])
        assert {each.id: each.state for each in (await first.documents()).documents} == dict.fromkeys("abc", "applied")
        assert (await other.document("a")).state == "applied"
        assert (await first.verify()).differences == ()


class OtherEmbedder:
    """An embedder of the same name whose vectors have another length."""

    name = "own"

    def __call__(self, texts: Sequence[str]) -> Any:
        return [[1.0 + len(text), 2.0] for text in texts]


async def test_other_length_under_the_same_name_fails_questions_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """After a restart questions name both lengths and the remedy; stored ones are left out, and versions continue."""
    message = "the embedder own gives the question 2 dimensions, and the vectors of graph 'g' have 4: restore"
    async with graphtide.open(tmp_path, embedder=Embedder(lambda rows: rows)) as db:
        graph = db.graph("g", read_your_writes=True)
        await graph.add("a", "Ana Ruiz leads.", entities=[], facts=[])
        await graph.add("b", "Kenji Mori leads.", entities=[], facts=[])
        await graph.questions.put("stored", "Who leads?")
    async with graphtide.open(tmp_path, embedder=OtherEmbedder()) as db:
        graph = db.graph("g", read_your_writes=True)
        for ask in (
            lambda: graph.ask("Who?"),
            lambda: graph.ask("Who?", mode="vector", generate=False),
            lambda: anext(aiter(graph.ask_stream("Who?"))),
            lambda: graph.preview(delete=["a"], questions=[{"question": "Who?"}]),
            lambda: graph.questions.put("new", "Who?"),
        ):
            with pytest.raises(graphtide.Rejected, match=message):
                await ask()
        await graph.delete("b")
        assert (await graph.document("b")).state == "deleted"
        await graph.add("c", "Mara Voss leads.", entities=[], facts=[])
        assert "2 dimensions" in (await graph.document("c")).reason
        assert [each.id for each in (await graph.questions.list()).questions] == ["stored"]
    skipped = f"graph g: standing question 'stored' is not evaluated until the next start: {message}"
    assert sum(each.getMessage().startswith(skipped) for each in caplog.records) == 1
    async with graphtide.open(tmp_path, embedder=Embedder(lambda rows: rows)) as db:
        graph = db.graph("g", read_your_writes=True)
        await graph.add("d", "Lena Holt leads.", entities=[], facts=[])
        found = await graph.questions.get("stored")
        assert sorted(each.doc_id for each in found.passages) == ["a", "d"]


async def test_stored_question_whose_text_is_rejected_fails_alone(tmp_path: Path) -> None:
    """The other question of its page follows the graph."""
    async with graphtide.open(tmp_path, embedder=Embedder(lambda rows: rows)) as db:
        graph = db.graph("g", read_your_writes=True)
        await graph.add("a", "Ana Ruiz leads.", entities=[], facts=[])
        await graph.questions.put("bad", "WRONG?")
        await graph.questions.put("good", "Who leads?")
    async with graphtide.open(tmp_path, embedder=Embedder(lambda rows: [[0.0] * 4 for _ in rows])) as db:
        graph = db.graph("g", read_your_writes=True)
        await graph.add("b", "Kenji Mori leads.", entities=[], facts=[])
        assert (await graph.document("b")).state == "applied"
        assert len((await graph.questions.get("good")).passages) == 2
        assert len((await graph.questions.get("bad")).passages) == 1


@pytest.mark.parametrize("seed", seeds(1, 4))
async def test_vectors_of_any_size_have_unit_length(seed: int) -> None:
    """Squares of the numbers may overflow or vanish; the direction is kept."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    for scale in (1e-300, 1e-20, 1.0, 1e20, 1e300):
        rows = [[rng.uniform(0.1, 1.0) * scale for _ in range(8)] for _ in range(5)]
        made = await CallableEmbedder(lambda _texts, rows=rows: rows).embed(["x"] * 5)
        expected = np.array(rows) / scale
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        assert made.dtype == np.float32
        assert np.allclose(made, expected, atol=1e-6)
