"""Supervision and retry: back-off times, and that a stage survives every failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from graphtide.streams import retry as retrying
from graphtide.streams.errors import Fenced, Rejected, Retryable
from graphtide.streams.retry import Backoff, outcome_of, supervise


def test_backoff_doubles_up_to_its_longest() -> None:
    """And attempt numbers beyond any float do not overflow it."""
    backoff = Backoff(0.5, 3.0)
    assert [backoff.delay_s(attempt) for attempt in (0, 1, 2, 3, 10_000)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_backoff_waits_as_long_as_it_is_asked_and_never_not_at_all() -> None:
    """Retry-After counts, even beyond the longest; a Retry-After of 0 must not become a busy loop."""
    backoff = Backoff(0.5, 3.0)
    assert backoff.wait_s(0, Retryable("x", 60.0)) == 60.0
    assert backoff.wait_s(9, Retryable("x", 0.0)) == 0.5
    assert backoff.wait_s(1, Retryable("x")) == 1.0 == backoff.wait_s(1, ValueError("x"))


async def test_outcome_hands_over_errors_and_lets_cancellation_through() -> None:
    """An error is a value to the caller; a cancellation is not an outcome of the work."""

    async def work(error: BaseException | None) -> int:
        if error is not None:
            raise error
        return 7

    failure = ZeroDivisionError("a bug")
    assert await outcome_of(work(None)) == 7 and await outcome_of(work(failure)) is failure
    with pytest.raises(asyncio.CancelledError):
        await outcome_of(work(asyncio.CancelledError()))


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[None]], asyncio.Event]:
    """Return a stage that fails so often, and then runs."""
    left, runs = list(errors), asyncio.Event()

    async def run() -> None:
        if left:
            raise left.pop(0)
        runs.set()
        await asyncio.Event().wait()

    return run, runs


async def test_supervise_starts_a_stage_over_after_every_kind_of_failure(caplog: pytest.LogCaptureFixture) -> None:
    """Known errors are reported by their message, unexpected ones with their class and a traceback in the log."""
    notes: list[str] = []
    run, runs = failing(Retryable("away", 0.0), Fenced("another"), Rejected("no"), ZeroDivisionError("a bug"))
    task = asyncio.create_task(supervise("stage", run, notes.append))
    async with asyncio.timeout(30):
        await runs.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [note for note in notes if note] == ["away", "another", "no", "ZeroDivisionError: a bug"]
    assert any(record.exc_info for record in caplog.records)


async def test_supervise_calls_a_stage_well_only_after_it_has_lasted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two failures the last one stays reported; it is cleared once a run has lasted."""
    monkeypatch.setattr(retrying, "SETTLED_S", 0.01)
    notes: list[str] = []
    well = asyncio.Event()

    def note(reason: str) -> None:
        notes.append(reason)
        if not reason and "twice" in notes:
            well.set()

    run, _ = failing(Retryable("once", 0.0), Retryable("twice", 0.0))
    task = asyncio.create_task(supervise("stage", run, note))
    async with asyncio.timeout(30):
        await well.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert notes[notes.index("once") : notes.index("twice") + 1] == ["once", "twice"]


async def test_supervise_waits_longer_before_it_calls_a_stage_well_whose_runs_take_longer_to_fail(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A restarted run has to last a multiple of the time after which the one before failed, up to the longest delay."""
    monkeypatch.setattr(retrying, "SETTLED_S", 20.0)
    monkeypatch.setattr(retrying, "TIMES_LONGER", 1e6)
    loop, delays = asyncio.get_running_loop(), list[float]()
    call_later = loop.call_later

    def recorded(delay: float, callback: Callable[..., object], *args: object) -> asyncio.TimerHandle:
        if args == ("",):
            delays.append(delay)
        return call_later(delay, callback, *args)

    monkeypatch.setattr(loop, "call_later", recorded)
    run, runs = failing(Retryable("once", 0.0))

    async def slow() -> None:
        await asyncio.sleep(0.05)
        await run()

    task = asyncio.create_task(supervise("stage", slow, lambda _: None))
    async with asyncio.timeout(30):
        await runs.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert delays == [0.0, Backoff().longest_s]


async def test_supervise_ends_when_it_is_cancelled_while_it_waits() -> None:
    """SIGTERM does not have to wait for a Retry-After of an hour."""
    reported = asyncio.Event()
    run, _ = failing(Retryable("away", 3600.0))
    task = asyncio.create_task(supervise("stage", run, lambda reason: reported.set() if reason else None))
    async with asyncio.timeout(30):
        await reported.wait()
    task.cancel()
    [ended] = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)


async def test_supervise_starts_a_stage_over_that_ends_as_if_it_had_been_cancelled() -> None:
    """A library that lets the cancellation of a task of its own out does not end the stage; a real one does."""
    inner = asyncio.get_running_loop().create_future()
    inner.cancel()
    left, runs = [inner], asyncio.Event()

    async def run() -> None:
        if left:
            await left.pop()
        runs.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(supervise("stage", run, lambda _: None))
    async with asyncio.timeout(30):
        await runs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
