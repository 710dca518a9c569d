"""Background tasks of an application: its supervised stages and its periodic tasks.

The invariant: `stop` ends every task started here, and `notes` holds the reason why a task waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from datetime import time as Time  # noqa: N812 - a time of day; `time` is the module of clocks
from typing import TYPE_CHECKING

from graphtide.infra.communities.leiden_process import LeidenProcess
from graphtide.streams.consolidate.stage import ConsolidateStage
from graphtide.streams.errors import GraphtideError
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.retry import outcome_of, supervise

if TYPE_CHECKING:
    from graphtide.infra.models.openai.judge import OpenAIJudge

SAVE_EVERY_S = 600.0
CHECK_EVERY_S = 5.0
LOOK_EVERY_S = 2.0
SAVE_AFTER_VERSIONS = 500


def start(name: str, run: Callable[[], Awaitable[None]], notes: dict[str, str]) -> asyncio.Task[None]:
    """Run the task until `stop`, restarting it after failures; `notes[name]` is why it waits, "" while it runs."""

    def note(reason: str) -> None:
        notes[name] = reason

    return asyncio.create_task(supervise(name, run, note), name=name)


async def stop(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel the tasks and wait for them: the next start reads uncommitted records again."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def check_now_and_then(stage: ConsolidateStage) -> None:
    """Check the drift of communities periodically. The number of changes decides which graphs are due."""
    async with LeidenProcess() as leiden:
        while True:
            await asyncio.sleep(CHECK_EVERY_S)
            await stage.check_drift(leiden.run)
            await leiden.end_if_idle()


async def judge_now_and_then(stage: ConsolidateStage, judge: OpenAIJudge) -> None:
    """Let a model judge undecided pairs periodically, a few at a time."""
    while True:
        await asyncio.sleep(CHECK_EVERY_S)
        while await stage.judge(judge.same):
            pass


async def look_now_and_then(look: Callable[[], Awaitable[None]], every_s: float = LOOK_EVERY_S) -> None:
    """Update the gauges of the lag periodically. A failed update is repeated at the next interval."""
    while True:
        failure = await outcome_of(look())
        if isinstance(failure, Exception) and not isinstance(failure, GraphtideError):
            raise failure
        await asyncio.sleep(every_s)


async def save_now_and_then(views: ViewRegistry) -> None:
    """Save the indexes periodically, so that a start after a crash has little to replay.

    Indexes that the start had to build are saved at once.
    """
    while True:
        await views.save(least_versions=SAVE_AFTER_VERSIONS)
        await asyncio.sleep(SAVE_EVERY_S)


async def purge_nightly(purge: Callable[[], Awaitable[object]], at: str) -> None:
    """Call `purge` every day at the time `at`, such as "03:00" (UTC). The supervisor handles its errors."""
    while True:
        await asyncio.sleep(seconds_until(at, datetime.now(UTC)))
        await purge()


def seconds_until(at: str, now: datetime) -> float:
    """Return the seconds from `now` to the next time `at`: above 0, at most a day."""
    today = datetime.combine(now.date(), Time.fromisoformat(at), now.tzinfo)
    return ((today if today > now else today + timedelta(days=1)) - now).total_seconds()
