"""Questions beside inserts, edits, deletions, recounts and rebuilds: no error, and each answer is of its version."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from graphtide.graph.records import GraphDelta
from graphtide.graph.view import LiveView
from graphtide.infra.settings import Settings
from graphtide.services.application import Application, QueryRequest
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import DocumentMessage, GivenFact
from tests.support.extractions import NAMES, PREDICATES

OPERATIONS = 120
ASKERS = 4
TIMEOUT_S = 240.0
EACH = 2
"""The minimum number of each operation while documents are written, however busy the machine is."""


def document(rng: random.Random, number: int) -> DocumentMessage:
    subject, object_ = rng.sample(NAMES, 2)
    fact = GivenFact(subject, rng.choice(PREDICATES), object_)
    text = f"{fact.subject} {fact.predicate} {fact.object} {rng.randint(1, 10**9)} times."
    return DocumentMessage("g", f"d{number}", text, facts=(fact,) if rng.random() < 0.7 else None)


class History:
    """Content of each version of the graph: passages by (doc_id, text)."""

    def __init__(self, views: ViewRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passages: dict[int, frozenset[tuple[str, str]]] = {}
        self._views = views
        follow, replace = views.follow, views.replace

        async def following(delta: GraphDelta) -> None:
            await follow(delta)
            self._note()

        async def replacing(snapshot: GraphDelta) -> None:
            await replace(snapshot)
            self._note()

        monkeypatch.setattr(views, "follow", following)
        monkeypatch.setattr(views, "replace", replacing)

    def _note(self) -> None:
        view = self._views.get("g")
        assert isinstance(view, LiveView)
        self.passages[view.version] = frozenset((chunk.doc_id, chunk.text) for chunk in view.chunks.values())


async def write(application: Application, rng: random.Random, enough: Callable[[], bool]) -> None:
    """Write new documents, edits and deletions with occasional waits; at least OPERATIONS, and until `enough`."""
    published: set[int] = set()
    for number in itertools.count():
        if number >= OPERATIONS and enough():
            return
        if published and rng.random() < 0.25:
            one = rng.choice(sorted(published))
            published.discard(one)
            receipt = await application.delete("g", f"d{one}")
        else:
            one = rng.randint(0, 40)
            published.add(one)
            receipt = await application.publish([document(rng, one)])
        if number % 5 == 0:
            await application.query("g", QueryRequest("?", after=receipt.token, generate=False, timeout_s=TIMEOUT_S))


@pytest.mark.thorough
async def test_answers_are_of_their_version_while_the_graph_is_written_verified_and_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four readers in both modes, one writer, one verifier and one rebuilder run at once."""
    seed = 17
    print(f"seed {seed}")
    rng = random.Random(seed)
    async with open_application(Settings(data=tmp_path)) as application:
        assert isinstance(application, LocalApplication)
        history = History(application._runtime.views, monkeypatch)
        receipt = await application.publish([document(rng, 50)])
        await application.query("g", QueryRequest("?", after=receipt.token, timeout_s=TIMEOUT_S))
        answers = Counter[str]()

        def enough() -> bool:
            return min(answers[what] for what in ("local", "vector", "verified", "rebuilt")) >= EACH

        writing = asyncio.create_task(write(application, random.Random(seed), enough))
        shown: list[tuple[int, frozenset[tuple[str, str]]]] = []

        async def ask(mode: str) -> None:
            latest = 0
            while not writing.done():
                question = f"{rng.choice(NAMES)} {rng.choice(PREDICATES)} {rng.choice(NAMES)}?"
                asked = QueryRequest(question, mode=mode, generate=rng.random() < 0.2, timeout_s=TIMEOUT_S)
                found = await application.query("g", asked)
                assert found.version >= latest, "a reader went back in time"
                latest = found.version
                shown.append((found.version, frozenset((one.doc_id, one.text) for one in found.passages)))
                answers[mode] += 1

        async def look() -> None:
            while not writing.done():
                assert (await application.verify("g")).differences == ()
                answers["verified"] += 1

        async def rebuild() -> None:
            while not writing.done():
                found = await application.rebuild("g")
                assert found.before == found.after
                answers["rebuilt"] += 1
                await asyncio.wait((writing,), timeout=0.3)

        askers = (ask(("local", "vector")[number % 2]) for number in range(ASKERS))
        await asyncio.gather(writing, look(), rebuild(), *askers)
        assert all(passages <= history.passages[version] for version, passages in shown)
        assert (await application.verify("g")).differences == ()
        assert (await application.health()).ready
