"""The index of dead letters: a page costs the page, and equals what a scan of the whole topic finds."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path

import pytest

from graphtide.infra.sqlite.administration.purge import purge_rows
from graphtide.infra.sqlite.backend import SqliteBackend
from graphtide.streams.dead_letters import index as indexing
from graphtide.streams.dead_letters.erasure import letter_marks
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import (
    DROPPED,
    count_dead_letters,
    discard,
    get_dead_letter,
    list_dead_letters,
    page,
)
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import NotFound
from graphtide.streams.log.log_scan import read_window
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter
from graphtide.streams.ports import ConsumedRecord, Log, Position, Record, RevisionOutcome, RevisionState
from tests.support.backends import NAMES, Backend, Clock, opened

GRAPHS = ("g", "h", "")


@pytest.fixture(params=NAMES)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async with opened(request.param, tmp_path, Clock()) as one:
        yield one


def letter(graph: str, doc_id: str, revision: int = 1) -> DeadLetter:
    return DeadLetter(graph, doc_id, revision, "extract", "malformed", 1, b"\xff" * 9)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Position]:
    """Return a list to which the position of every record that the index reads from now on is added."""
    seen: list[Position] = []

    async def counting(
        log: Log, topic: str, begin: Mapping[int, int], ends: Mapping[int, int]
    ) -> AsyncGenerator[ConsumedRecord, None]:
        async for delivered in read_window(log, topic, begin, ends):
            seen.append(delivered.position)
            yield delivered

    monkeypatch.setattr(indexing, "read_window", counting)
    return seen


@pytest.mark.parametrize("seed", range(3))
async def test_index_equals_a_scan_after_every_step_of_a_random_walk(backend: Backend, seed: int) -> None:
    """Letters, settlements, foreign records and deletions of graphs: a kept index and a new one agree with a model."""
    print(f"seed {seed}")
    rng, kept = random.Random(seed), DeadLetterIndex(backend.log)
    model: dict[str, tuple[str, str, bool]] = {}
    for step in range(30):
        action = rng.random()
        unresolved = [name for name, (_, _, resolved) in model.items() if not resolved]
        if action < 0.5:
            graph = rng.choice(GRAPHS)
            end = (await backend.log.end(DEAD_LETTERS)).get(0, 0)
            await write_dead_letter(backend.log, letter(graph, f"d{step}"))
            model[f"0-{end}"] = graph, f"d{step}", False
        elif action < 0.75 and unresolved:
            name = rng.choice(unresolved)
            graph, doc_id, _ = model[name]
            await discard(kept, graph, name)
            model[name] = graph, doc_id, True
        elif action < 0.9:
            await backend.log.append(DEAD_LETTERS, [Record("x", b"not ours"), Record("y", None)])
        else:
            graph, before = rng.choice(GRAPHS[:2]), await backend.log.end(DEAD_LETTERS)
            await backend.log.append(DEAD_LETTERS, letter_marks(graph, before))
            model = {name: placed for name, placed in model.items() if placed[0] != graph}
        for graph in GRAPHS:
            for resolved in (False, True):
                wanted = [name for name, (of, _, done) in model.items() if of == graph and (resolved or not done)]
                found = await page(kept, graph, limit=100, resolved=resolved)
                assert [each.id for each in found.letters] == wanted
                assert list(found.letters) == list(await list_dead_letters(backend.log, graph, resolved=resolved))
        still_open = [graph for graph, _, done in model.values() if not done]
        assert await count_dead_letters(backend.log) == {graph: still_open.count(graph) for graph in set(still_open)}


async def test_page_reads_its_letters_and_not_the_topic(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 40 and with 400 letters a further page, a look-up and a discarded letter read as few records."""
    seen, counts = counted(monkeypatch), []
    for many in (40, 400):
        end = (await backend.log.end(DEAD_LETTERS)).get(0, 0)
        graph = f"g{many}"
        await backend.log.append(
            DEAD_LETTERS, [Record("k", letter(graph, f"d{number}").encode()) for number in range(many)]
        )
        letters = DeadLetterIndex(backend.log)
        first = await page(letters, graph, limit=5)
        seen.clear()
        second = await page(letters, graph, first.next, 5)
        assert [each.letter.doc_id for each in second.letters] == [f"d{number}" for number in range(5, 10)]
        await discard(letters, graph, f"0-{end + 30}")
        assert (await get_dead_letter(letters, graph, f"0-{end + 30}")).resolution == DROPPED
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 10


async def test_letters_that_the_log_no_longer_retains_are_dropped(backend: Backend) -> None:
    """After the log was trimmed, lists and look-ups behave as for a new index."""
    for number in range(4):
        await write_dead_letter(backend.log, letter("g", f"d{number}"))
    letters = DeadLetterIndex(backend.log)
    assert len((await page(letters, "g")).letters) == 4
    await backend.log.trim(DEAD_LETTERS, Position(0, 2))
    assert [each.id for each in (await page(letters, "g")).letters] == ["0-2", "0-3"]
    with pytest.raises(NotFound):
        await get_dead_letter(letters, "g", "0-1")


async def test_lists_and_new_letters_do_not_wait_for_a_purged_last_letter(tmp_path: Path) -> None:
    """A purge erases the newest letters of the topic; lists, look-ups and further letters need no later record."""
    backend = await SqliteBackend.open(tmp_path, Clock())
    try:
        letters = DeadLetterIndex(backend.log)
        await write_dead_letter(backend.log, letter("g", "kept"))
        [position] = await backend.ledger.accept([Record("g|doomed", None)])
        await backend.ledger.finish([RevisionOutcome("g", "doomed", position.offset, RevisionState.DELETED)])
        await write_dead_letter(backend.log, letter("g", "doomed"))
        await discard(letters, "g", "0-1")
        assert (await purge_rows(backend.database))["dead_letters"] == 1
        for index in (letters, DeadLetterIndex(backend.log)):
            assert [each.id for each in (await page(index, "g", resolved=True)).letters] == ["0-0"]
            with pytest.raises(NotFound):
                await get_dead_letter(index, "g", "0-1")
        await write_dead_letter(backend.log, letter("g", "later"))
        assert [each.id for each in (await page(letters, "g")).letters] == ["0-0", "0-3"]
    finally:
        await backend.close()
