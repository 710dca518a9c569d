"""Thread pool for CPU-bound work outside the event loop, shared fairly among graphs.

Invariants: at most `threads` jobs run at a time, at most `per_graph` of them for one graph, even when their callers
were cancelled; graphs take turns (`streams/scheduling/fair_queue.py`); more than `max_waiting` waiting jobs are
refused.

Threads share the interpreter lock with the event loop, so a piece of work must not hold it in one long call of C code.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from graphtide.graph.algorithms.yield_points import yield_point
from graphtide.streams.errors import Overloaded
from graphtide.streams.scheduling.fair_queue import FairQueue
from graphtide.streams.scheduling.inline_budget import InlineBudget
from graphtide.streams.usage import payer

T = TypeVar("T")

THREADS = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    work: Callable[[], Any]
    done: asyncio.Future[Any]
    context: Context


class WorkPool:
    """The thread pool. Bound to the event loop that uses it."""

    def __init__(
        self,
        threads: int = THREADS,
        per_graph: int = THREADS,
        max_waiting: int | None = None,
        questions: WorkPool | None = None,
    ) -> None:
        """Create the pool. Jobs on account of a question run in `questions` instead, if there is one."""
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="graphtide-work")
        self._free = threads
        self._per_graph = per_graph
        self._max_waiting = max_waiting
        self._questions = questions
        self._slots: Counter[str] = Counter()
        self._turns: FairQueue[_Job] = FairQueue()
        self._inline = InlineBudget()

    async def run(self, work: Callable[[], T], graph: str = "", *, small: bool = False) -> T:
        """Run `work` in a thread when it is the turn of `graph`, by default the graph of the current account.

        `small` work runs at once on the event loop, while the loop's current iteration has time left for it. Raises
        Overloaded when too many jobs wait.
        """
        if small and self._inline.is_left:
            return self._inline.run(work)
        if self._questions is not None and payer().question:
            return await self._questions.run(work, graph)
        if self._max_waiting is not None and len(self._turns) >= self._max_waiting:
            raise Overloaded(f"{len(self._turns)} jobs wait for a thread; repeat the request later")
        job = _Job(work, asyncio.get_running_loop().create_future(), copy_context())
        self._turns.put(graph or payer().graph, job)
        self._start()
        try:
            result: T = await job.done
        except asyncio.CancelledError:
            self._turns.drop(lambda waiting: waiting is job)
            raise
        return result

    def close(self) -> None:
        """End the threads once they are idle. `run` must not be called afterwards."""
        self._threads.shutdown(wait=False)

    def _start(self) -> None:
        while self._free and self._turns and self._turns.min_slots(self._slots) < self._per_graph:
            graph, job = self._turns.take(self._slots)
            if job.done.done():  # its caller was cancelled
                continue
            self._free -= 1
            self._slots[graph] += 1
            running = self._threads.submit(job.context.run, _run, job.work)
            running.add_done_callback(partial(self._ended, graph, job))

    def _ended(self, graph: str, job: _Job, ended: Future[Any]) -> None:
        """Report the end of a job from its thread to the event loop, unless that is closed."""
        loop = job.done.get_loop()
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._end, graph, job, ended)

    def _end(self, graph: str, job: _Job, ended: Future[Any]) -> None:
        self._free += 1
        self._slots[graph] -= 1
        if not self._slots[graph]:
            del self._slots[graph]
        error = ended.exception()
        if job.done.done():
            pass
        elif error is not None:
            job.done.set_exception(error)
        else:
            job.done.set_result(ended.result())
        self._start()


def _run(work: Callable[[], T]) -> T:
    """Run the work in its thread, after the yield point at which heavy work waits for questions."""
    yield_point()
    return work()
