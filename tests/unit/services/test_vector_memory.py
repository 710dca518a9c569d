"""Vectors of a process in files: the folder, the periodic move, its failures, and the end."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from graphtide.graph._vectors import StoredBytes
from graphtide.graph.vector_store import VectorMemory, spill, stored, vector_memory
from graphtide.infra.settings import Settings
from graphtide.services.local_application import LocalApplication
from graphtide.services.process import vector_memory as subject
from graphtide.services.process.vector_memory import chosen_folder, spill_now_and_then, vectors_in_files
from graphtide.services.wiring import open_application
from graphtide.streams.messages import DocumentMessage, GivenEntity

ON_DISK = Path(__file__).parent
MIB = 1 << 20


def any_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accept every folder: those of the tests may be in memory."""
    monkeypatch.setattr(subject, "check_folder", lambda _: None)


def vectors() -> list[object]:
    """Return vectors that fill a chunk."""
    return [stored(bytes([number % 256]) * 4_096) for number in range(300)]


def test_folder_is_that_of_the_data_else_that_of_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that is missing or in memory is not used; without any, one line of the log names the reasons."""
    caplog.set_level(logging.INFO)
    missing = tmp_path / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(ON_DISK.parent))
    assert chosen_folder(Settings(data=ON_DISK)) == ON_DISK
    assert chosen_folder(Settings(data=missing)) == ON_DISK.parent and not caplog.records
    monkeypatch.setattr(tempfile, "tempdir", str(missing / "too"))
    assert chosen_folder(Settings(data=missing)) is None
    (line,) = caplog.messages
    assert str(missing) in line and "No such file" in line and "vectors_in_files" in line


async def test_last_block_turns_chunks_off_and_the_setting_never_turns_them_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two databases may be open in one process."""
    any_folder(monkeypatch)
    settings = Settings(data=tmp_path)
    async with vectors_in_files(settings) as folder:
        assert folder == tmp_path
        async with vectors_in_files(settings):
            assert isinstance(stored(b"one"), StoredBytes)
        kept = stored(b"two")
        assert isinstance(kept, StoredBytes)
    assert stored(b"three") == b"three" and not isinstance(stored(b"three"), StoredBytes) and kept == b"two"
    async with vectors_in_files(Settings(data=tmp_path, vectors_in_files=False)) as folder:
        assert folder is None and not isinstance(stored(b"four"), StoredBytes)


async def test_full_chunks_move_periodically_and_a_failure_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The folder is missing for some attempts; afterwards the vectors move, and nothing has changed them."""
    any_folder(monkeypatch)
    folder, failures = tmp_path / "data", iter(range(1, 4))
    failed, moved, loop = asyncio.Event(), asyncio.Event(), asyncio.get_running_loop()

    def observed(where: Path, min_free_bytes: int) -> int:
        try:
            assert min_free_bytes > 0
            size_bytes = spill(where)
        except OSError:
            if next(failures, 3) == 3:
                loop.call_soon_threadsafe(failed.set)
            raise
        loop.call_soon_threadsafe(moved.set)
        return size_bytes

    monkeypatch.setattr(subject, "spill", observed)
    async with vectors_in_files(Settings(data=tmp_path), every_s=1e9):
        before, found = vector_memory().mapped_bytes, vectors()
        moving = asyncio.create_task(spill_now_and_then(folder, 0, 0))
        await failed.wait()
        assert vector_memory().mapped_bytes == before and found == vectors()
        folder.mkdir()
        await moved.wait()
        assert vector_memory().mapped_bytes >= before + MIB
        moving.cancel()
        with suppress(asyncio.CancelledError):
            await moving
        assert found == vectors()
    (line,) = caplog.messages
    assert "No such file" in line and "free space" in line


async def test_pages_of_files_are_dropped_in_the_round_of_a_move_and_in_eight_after_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """None in a round that fails, and none later: questions would read them again."""
    rounds: list[int | None] = [None, *[0] * 4, MIB, 0, 0, MIB, *[0] * 4, None, *[0] * 8, MIB]
    course, ended = list[str](), asyncio.Event()
    loop, left = asyncio.get_running_loop(), iter(rounds)

    def move(_: Path, __: int) -> int:
        size_bytes = next(left, 0)
        course.append("failed" if size_bytes is None else "moved" if size_bytes else "-")
        if len(course) - course.count("dropped") == len(rounds) + 10:
            loop.call_soon_threadsafe(ended.set)
        if size_bytes is None:
            raise OSError("no space")
        return size_bytes

    def drop(max_bytes: int) -> int:
        assert max_bytes > 0
        if course[-1] != "dropped":
            course.append("dropped")
        return MIB

    monkeypatch.setattr(subject, "spill", move)
    monkeypatch.setattr(subject, "release", drop)
    monkeypatch.setattr(subject, "vector_memory", lambda: VectorMemory(0, 0, 0, 0))
    moving = asyncio.create_task(spill_now_and_then(Path(), 0, 0))
    await ended.wait()
    moving.cancel()
    with suppress(asyncio.CancelledError):
        await moving
    move_round, quiet = ["moved", "dropped"], ["-", "dropped"]
    expected = ["failed", *"-" * 4, *move_round, *quiet * 2, *move_round, *quiet * 4, "failed", *quiet * 4, *"-" * 4]
    expected += [*move_round, *quiet * 8, "-"]
    assert course[: len(expected)] == expected and "dropped" not in course[len(expected) :]
    assert len(caplog.messages) == 2


async def test_pages_of_files_are_dropped_too_while_vectors_arrive_that_fill_no_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A chunk of a large process takes many rounds; a MiB more or less counts, a few vectors do not."""
    live_mib = [0.0, 0.2, 0.4, 0.6, 1.1, *[1.2] * 8, 1.3, 0.05, *[0.1] * 9]
    course, left, ended = list[str](), iter(live_mib), asyncio.Event()
    loop = asyncio.get_running_loop()

    def live() -> VectorMemory:
        now = next(left, None)
        if now is None:
            loop.call_soon_threadsafe(ended.set)
        course.append("-")
        return VectorMemory(int((live_mib[-1] if now is None else now) * MIB), 0, 0, 0)

    def drop(_: int) -> int:
        course[-1] = "dropped"
        return MIB

    monkeypatch.setattr(subject, "spill", lambda *_: 0)
    monkeypatch.setattr(subject, "release", drop)
    monkeypatch.setattr(subject, "vector_memory", live)
    moving = asyncio.create_task(spill_now_and_then(Path(), 0, 0))
    await ended.wait()
    moving.cancel()
    with suppress(asyncio.CancelledError):
        await moving
    dropped = ["dropped"] * 9
    assert course[: len(live_mib)] == [*"-" * 4, *dropped, "-", *dropped, "-"]


async def test_service_keeps_the_vectors_of_its_graphs_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of passages, entities and statements, also after a restart from saved indexes; questions are answered."""
    any_folder(monkeypatch)
    settings = Settings(data=tmp_path)
    document = DocumentMessage("g", "a", "Ada met Bob.", entities=(GivenEntity("Ada"), GivenEntity("Bob")))
    for _ in range(2):
        async with open_application(settings) as application:
            assert isinstance(application, LocalApplication)
            receipt = await application.publish([document])
            assert (await application.token_state("g", receipt.token, 60.0)).reached
            view = application._runtime.views.get("g")
            assert view is not None
            found = [row.vector_bytes for table in (view.chunks, view.entities) for row in table.values()]
            assert found and all(isinstance(data, StoredBytes) for data in found if data)
    assert not isinstance(stored(b"a"), StoredBytes)
