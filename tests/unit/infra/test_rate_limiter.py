"""The rate limiter of an endpoint: slots, allowances per minute, priorities, and the circuit breaker."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest

from graphtide.infra.models.limits.rate_limiter import EndpointLimits, RateLimiter, Timing, TokenBucket
from graphtide.streams.errors import BudgetExceeded, Rejected, Retryable


class Time:
    """Clock that the test moves."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def timing(self) -> Timing:
        return Timing(lambda: self.now_s, self._later)

    def _later(self, seconds: float, what: Callable[[], None]) -> Callable[[], None]:
        entry = (self.now_s + seconds, what)
        self._due.append(entry)
        return lambda: self._due.remove(entry) if entry in self._due else None

    async def pass_(self, seconds: float) -> None:
        """Advance the clock, with all due callbacks, and let the tasks run."""
        end = self.now_s + seconds
        await settled()
        while self._due and (first := min(self._due, key=lambda entry: entry[0]))[0] <= end:
            self._due.remove(first)
            self.now_s = max(self.now_s, first[0])
            first[1]()
            await settled()
        self.now_s = end


async def settled() -> None:
    """Run every task until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Calls:
    """Calls through a limiter: the admitted ones, in order; each stays until it is released."""

    def __init__(self, gate: RateLimiter) -> None:
        self.gate = gate
        self.through: list[str] = []
        self.at_once = 0
        self.highest = 0
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, name: str, tokens: int = 0, urgent: bool = False, stays: bool = True) -> None:
        self._ends[name] = asyncio.Event()
        if not stays:
            self._ends[name].set()
        self.tasks[name] = asyncio.create_task(self._call(name, tokens, urgent))

    async def _call(self, name: str, tokens: int, urgent: bool) -> None:
        async with self.gate.call(tokens, urgent=urgent):
            self.through.append(name)
            self.at_once += 1
            self.highest = max(self.highest, self.at_once)
            try:
                await self._ends[name].wait()
            finally:
                self.at_once -= 1

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.tasks[name]
        await settled()


async def test_gate_bounds_the_calls_under_way_and_lets_questions_go_first() -> None:
    """With two slots the third call waits; when one is free, the latest question goes before documents."""
    calls = Calls(RateLimiter(EndpointLimits(2), "x", Time().timing()))
    for name in "abcd":
        calls.start(name)
        await settled()
    calls.start("question", urgent=True)
    await settled()
    assert calls.through == ["a", "b"]
    await calls.end("a")
    assert calls.through == ["a", "b", "question"]
    await calls.end("b")
    assert calls.through[3:] == ["c"] and calls.highest == 2
    for name in ("c", "question", "d"):
        await calls.end(name)


async def test_gate_keeps_to_requests_and_tokens_a_minute_for_random_calls() -> None:
    """In any interval, the admitted calls use at most its allowance and one bucket, and in the end all are admitted."""
    seed = 11
    print(f"seed {seed}")
    rng, time = random.Random(seed), Time()
    calls = Calls(RateLimiter(EndpointLimits(50, requests_per_minute=30, tokens_per_minute=6_000), "x", time.timing()))
    sizes = {str(number): rng.randrange(1, 600) for number in range(120)}
    for name, tokens in sizes.items():
        calls.start(name, tokens, stays=False)
    for minute in range(1, 60):
        await time.pass_(60)
        assert len(calls.through) <= 30 * (minute + 1)
        assert sum(sizes[name] for name in calls.through) <= 6_000 * (minute + 1)
    assert calls.through == list(sizes)
    await asyncio.gather(*calls.tasks.values())


async def test_gate_lets_a_call_through_that_is_larger_than_a_minute_allows() -> None:
    """A call larger than the bucket takes all of it, and the next one waits for the overdraft: no call waits
    forever.
    """
    time = Time()
    calls = Calls(RateLimiter(EndpointLimits(8, tokens_per_minute=100), "x", time.timing()))
    calls.start("huge", 250, stays=False)
    calls.start("next", 50, stays=False)
    await settled()
    assert calls.through == ["huge"]
    await time.pass_(119)
    assert calls.through == ["huge"]
    await time.pass_(2)
    assert calls.through == ["huge", "next"]


async def test_gate_counts_what_a_call_really_cost() -> None:
    """Later calls pay for an estimate that was too low; one that was too high is returned."""
    for cost, through in ((90, False), (10, True)):
        time = Time()
        gate = RateLimiter(EndpointLimits(8, tokens_per_minute=100), "x", time.timing())
        async with gate.call(50) as call:
            call.cost(cost)
        calls = Calls(gate)
        calls.start("next", 60, stays=False)
        await settled()
        assert bool(calls.through) == through
        await time.pass_(60)
        assert calls.through == ["next"]


async def test_gate_gives_a_place_back_however_a_call_ends() -> None:
    """A call releases its slot after an error, cancelled while it runs or waits, and cancelled as it is admitted."""
    gate = RateLimiter(EndpointLimits(1), "x", Time().timing())
    with pytest.raises(Rejected):
        async with gate.call():
            raise Rejected("never")
    calls = Calls(gate)
    for name in ("runs", "waits", "lucky", "last"):
        calls.start(name)
        await settled()
    calls.tasks["waits"].cancel()
    calls.tasks["runs"].cancel()
    await asyncio.sleep(0)  # "runs" releases its slot to "lucky", which has not woken up yet
    calls.tasks["lucky"].cancel()
    await settled()
    assert calls.through[-1] == "last"
    await calls.end("last")


async def fail(gate: RateLimiter, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        async with gate.call():
            raise error


async def refused(gate: RateLimiter) -> Retryable:
    with pytest.raises(Retryable, match="is not called") as raised:
        async with gate.call():
            raise AssertionError("let through")
    return raised.value


async def works(gate: RateLimiter) -> None:
    async with gate.call():
        pass


async def test_gate_honours_a_retry_after_for_every_caller() -> None:
    """While the endpoint asks one caller to wait, other calls fail without a request; then all continue."""
    time = Time()
    gate = RateLimiter(EndpointLimits(failures_to_open=5), "the endpoint", time.timing())
    await fail(gate, Retryable("too many", 30.0))
    await time.pass_(10)
    error = await refused(gate)
    assert error.retry_after_s == pytest.approx(20) and "too many" in str(error)
    await time.pass_(21)
    await works(gate)
    await works(gate)


async def test_gate_opens_after_failures_in_a_row_and_lets_one_call_try() -> None:
    """Two failures do not open the circuit if a call succeeds between them; three in a row do, longer each time."""
    time = Time()
    gate = RateLimiter(EndpointLimits(failures_to_open=3, cool_down_s=2, longest_cool_down_s=60), "x", time.timing())
    for _ in range(2):
        await fail(gate, Retryable("down"))
        await fail(gate, Retryable("down"))
        await works(gate)
    for _ in range(3):
        await fail(gate, Retryable("down"))
    assert (await refused(gate)).retry_after_s == pytest.approx(2)
    await time.pass_(2)
    calls = Calls(gate)
    calls.start("probe")
    await settled()
    await refused(gate)
    calls.tasks["probe"].cancel()
    await settled()
    await fail(gate, Retryable("still down"))
    assert (await refused(gate)).retry_after_s == pytest.approx(4)
    await time.pass_(4)
    await works(gate)
    await works(gate)


async def test_gate_stays_open_for_refusals_of_single_texts() -> None:
    """A text that the endpoint rejects does not count as its failure."""
    gate = RateLimiter(EndpointLimits(failures_to_open=2), "x", Time().timing())
    for _ in range(9):
        await fail(gate, Rejected("too long"))
    await works(gate)


@pytest.mark.parametrize(
    "limits",
    [EndpointLimits(3), EndpointLimits(3, 60), EndpointLimits(3, 600, 10_000)],
    ids=["none", "requests", "tokens"],
)
async def test_gate_gives_graphs_turns_however_many_calls_one_has_waiting(limits: EndpointLimits) -> None:
    """A modest graph's call never has more before it than the calls in flight, those of its own graph, and one of each
    other graph, although a greedy graph has 300 calls waiting.
    """
    seed = 5
    print(f"seed {seed}")
    rng, time = random.Random(seed), Time()
    gate = RateLimiter(limits, "x", time.timing())
    through: list[str] = []
    waited: list[tuple[int, int]] = []

    async def call(graph: str, tokens: int) -> None:
        before, own = len(through), sum(one == graph for one in waiting)
        waiting.append(graph)
        async with gate.call(tokens, graph=graph):
            waiting.remove(graph)
            through.append(graph)
            if graph != "greedy":
                waited.append((len(through) - before - 1, own))
            await asyncio.sleep(0)

    waiting: list[str] = []
    tasks = [asyncio.create_task(call("greedy", 200)) for _ in range(300)]
    await settled()
    for _ in range(40):
        tasks += [asyncio.create_task(call(rng.choice("abc"), 200)) for _ in range(rng.randrange(3))]
        await time.pass_(rng.choice([1, 7]))
    await time.pass_(100_000)
    await asyncio.gather(*tasks)
    assert len(through) == len(tasks) and waited
    # Before a call: those of its own graph, as many and one of each of the three others, and the calls in flight.
    assert all(ahead <= own + 3 * (own + 1) + 3 for ahead, own in waited)
    assert through.index(next(one for one in through if one != "greedy")) < 100


async def test_gate_shares_tokens_not_calls_between_graphs() -> None:
    """Two graphs that always have calls waiting get the same tokens, though one asks for four times as many
    per call.
    """
    time = Time()
    gate, taken = RateLimiter(EndpointLimits(1, tokens_per_minute=1_000), "x", time.timing()), {"big": 0, "small": 0}

    async def call(graph: str, tokens: int) -> None:
        async with gate.call(tokens, graph=graph):
            taken[graph] += tokens

    tasks = [asyncio.create_task(call("big", 400)) for _ in range(200)]
    tasks += [asyncio.create_task(call("small", 100)) for _ in range(800)]
    await time.pass_(60 * 30)
    assert sum(taken.values()) > 20_000 and abs(taken["big"] - taken["small"]) <= 400
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_gate_takes_a_used_up_budget_for_no_failure() -> None:
    """Calls that their graph's budget refuses do not open the circuit, and return their share of the
    endpoint's minute.
    """
    time = Time()
    gate = RateLimiter(
        EndpointLimits(2, requests_per_minute=2, tokens_per_minute=100, failures_to_open=2), "x", time.timing()
    )
    for _ in range(5):
        with pytest.raises(BudgetExceeded):
            async with gate.call(50):
                raise BudgetExceeded("used up")
    calls = Calls(gate)
    for name in "ab":
        calls.start(name, 50, stays=False)
    await settled()
    assert calls.through == ["a", "b"]


def test_allowance_never_delays_when_there_is_no_limit() -> None:
    """A limit of 0 per minute is unlimited."""
    assert TokenBucket(0, 0.0).delay_s(1_000_000, 0.0) == 0


async def test_shared_allowance_lets_through_a_share_and_keeps_no_more_than_its_part() -> None:
    """A process that is one of two calling ones, of four, gets half of a minute's allowance, and a burst of a
    quarter.
    """
    time = Time()
    gate = RateLimiter(EndpointLimits(1_000, requests_per_minute=120), "x", time.timing())
    gate.share(2, 4)
    calls = Calls(gate)
    for number in range(300):
        calls.start(str(number), stays=False)
    await settled()
    assert len(calls.through) == 30
    await time.pass_(60)
    assert len(calls.through) == 90
    gate.share(1, 1)
    await time.pass_(60)
    assert len(calls.through) == 210 and gate.asked == 300
    for task in calls.tasks.values():
        task.cancel()
    await asyncio.gather(*calls.tasks.values(), return_exceptions=True)
