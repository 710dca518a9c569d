"""Per-endpoint rate limiter and circuit breaker: concurrent calls, requests and tokens per minute.

It does not retry: a refused caller gets Retryable with the time to wait. Invariants: at most ``concurrent_calls`` are
in flight; the calls admitted in any minute use at most a minute's allowance plus the unused rest from before; questions
go before documents; a call that ends in any way releases its slot.

Among calls of equal priority the graphs take turns, each by the share of the endpoint that its calls use, and within a
graph calls are first come, first served (start-time fair queueing: Goyal, Vin and Cheng 1996, section 2; the dominant
share counts: Ghodsi et al. 2011, section 4). So a call of a graph without waiting calls has at most one call of each
other graph before it, however many they have waiting; with n graphs that all have waiting calls, each gets 1/n of the
endpoint.

    the endpoint                          the limiter (when ``failures_to_open`` is not 0)
    gives a time to wait                  opens for that time
    fails ``failures_to_open`` in a row   opens for ``cool_down_s``; then one probe: closes, or twice the time
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from graphtide.streams.errors import BudgetExceeded, Retryable

_MAX_REMEMBERED = 1_000
_UNLIMITED = 6_000


@dataclass(frozen=True, slots=True)
class EndpointLimits:
    """Limits of an endpoint. 0 requests or tokens per minute: unlimited. 0 failures to open: it is always called."""

    concurrent_calls: int = 8
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    failures_to_open: int = 0
    cool_down_s: float = 2.0
    longest_cool_down_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Timing:
    """Clock and timer. The event loop's own by default; a test supplies its own."""

    now: Callable[[], float]
    later: Callable[[float, Callable[[], None]], Callable[[], None]]
    """(seconds, callback) -> function that cancels it."""


class TokenBucket:
    """A bucket that holds at most one minute's allowance and fills evenly. One call may overdraw it."""

    def __init__(self, per_minute: int, now: float) -> None:
        self._whole = per_minute
        self._per_minute = self._capacity = self._left = float(per_minute)
        self._at = now

    def share(self, asking: int, there: int, now: float) -> None:
        """Set the rate to 1/``asking`` of the allowance per minute, and the capacity to 1/``there`` of it."""
        self._fill(now)
        self._per_minute, self._capacity = self._whole / asking, self._whole / there
        self._left = min(self._left, self._capacity)

    def delay_s(self, amount: float, now: float) -> float:
        """Return the seconds until ``amount``, or the whole bucket if smaller, may be taken; 0 when it may be taken
        now.
        """
        if not self._whole:
            return 0.0
        self._fill(now)
        missing = min(amount, self._capacity) - self._left
        return max(0.0, missing * 60 / self._per_minute) if missing > 1e-9 else 0.0

    def _fill(self, now: float) -> None:
        self._left = min(self._capacity, self._left + (now - self._at) * self._per_minute / 60)
        self._at = now

    def take(self, amount: float) -> None:
        """Take the amount; a negative amount returns what was estimated too high."""
        self._left -= amount


@dataclass(order=True, slots=True)
class _Waiting:
    behind: bool
    start: float
    number: int
    tokens: int = field(compare=False)
    turn: asyncio.Future[None] = field(compare=False)


@dataclass(slots=True, eq=False)
class Call:
    """One admitted call, with the tokens that it was expected to cost."""

    tokens: int

    def cost(self, tokens: int) -> None:
        """Replace the expected tokens by the endpoint's own count."""
        self.tokens = tokens


class RateLimiter:
    """See the module. One per endpoint, shared by all callers; belongs to the event loop it is used in."""

    def __init__(self, limits: EndpointLimits, where: str, timing: Timing | None = None) -> None:
        self._limits = limits
        self._where = where
        self._timing = timing or _loop_timing()
        self._places = limits.concurrent_calls
        self._requests = TokenBucket(limits.requests_per_minute, self._timing.now())
        self._tokens = TokenBucket(limits.tokens_per_minute, self._timing.now())
        self._waiting: list[_Waiting] = []
        self._order = FairScheduler(limits)
        self._numbers = count()
        self._call_off: Callable[[], None] | None = None
        self._quiet = CircuitBreaker(limits)
        self._waited_s = 0.0
        self._asked = 0

    def share(self, asking: int, there: int) -> None:
        """Share requests and tokens per minute with ``asking`` calling processes of ``there`` processes.

        Slots and the circuit breaker belong to each process alone.
        """
        now = self._timing.now()
        self._requests.share(asking, there, now)
        self._tokens.share(asking, there, now)
        self._admit()

    @property
    def asked(self) -> int:
        """Return the number of calls ever requested."""
        return self._asked

    @property
    def waited_s(self) -> float:
        """Return the total seconds that calls have waited for their turn."""
        return self._waited_s

    @property
    def queued(self) -> int:
        """Return the number of calls that wait for their turn."""
        return sum(not call.turn.done() for call in self._waiting)

    @property
    def in_flight(self) -> int:
        return self._limits.concurrent_calls - self._places

    @asynccontextmanager
    async def call(self, tokens: int = 0, *, urgent: bool = False, graph: str = "") -> AsyncIterator[Call]:
        """Wait for a slot for one call of about ``tokens``. Raises Retryable while the circuit is open.

        The block's exception decides the circuit breaker's state: Retryable is the endpoint's failure; any other
        exception, and an exhausted budget, is not.
        """
        self._refuse()
        await self._turn(tokens, urgent, graph)
        call = Call(tokens)
        try:
            self._refuse()  # the circuit may have opened while this call waited
            probing = self._quiet.probe()
            try:
                yield call
            except BudgetExceeded:
                self._quiet.gave_up(probing)
                self._requests.take(-1)
                call.cost(0)
                raise
            except asyncio.CancelledError:
                self._quiet.gave_up(probing)
                raise
            except Retryable as error:
                self._quiet.failed(error, self._timing.now())
                raise
            except BaseException:
                self._quiet.worked()
                raise
            self._quiet.worked()
        finally:
            self._tokens.take(call.tokens - tokens)
            self._leave()

    def trouble(self) -> str:
        """Return why the latest call failed; "" after a success or before the first call."""
        return self._quiet.trouble

    def _refuse(self) -> None:
        left_s, reason = self._quiet.left(self._timing.now())
        if left_s > 0:
            raise Retryable(f"{self._where} is not called for {left_s:.0f} s: {reason}", left_s)

    async def _turn(self, tokens: int, urgent: bool, graph: str) -> None:
        self._asked += 1
        turn = asyncio.get_running_loop().create_future()
        start = self._order.start((not urgent, graph), tokens)
        waiting = _Waiting(not urgent, start, next(self._numbers), tokens, turn)
        heapq.heappush(self._waiting, waiting)
        self._admit()
        came = self._timing.now()
        try:
            await waiting.turn
            self._waited_s += self._timing.now() - came
        except asyncio.CancelledError:
            if waiting.turn.done() and not waiting.turn.cancelled():  # admitted and cancelled in the same moment
                self._leave()
            raise

    def _admit(self) -> None:
        """Admit the calls whose turn it is; schedule the next check for when the next one may start."""
        while self._waiting and self._places:
            first = self._waiting[0]
            if not first.turn.done():
                now = self._timing.now()
                delay_s = max(self._requests.delay_s(1, now), self._tokens.delay_s(first.tokens, now))
                if delay_s > 0:
                    self._come_back(delay_s)
                    return
                self._requests.take(1)
                self._tokens.take(first.tokens)
                self._places -= 1
                self._order.served(first.behind, first.start)
                first.turn.set_result(None)
            heapq.heappop(self._waiting)

    def _come_back(self, delay_s: float) -> None:
        if self._call_off is not None:
            self._call_off()
        self._call_off = self._timing.later(delay_s, self._admit)

    def _leave(self) -> None:
        self._places += 1
        self._admit()


class FairScheduler:
    """The time at which each graph's next call is due, in shares of a minute; see the module."""

    def __init__(self, limits: EndpointLimits) -> None:
        self._limits = limits
        self._ends: dict[tuple[bool, str], float] = {}
        self._reached = {False: 0.0, True: 0.0}

    def start(self, whose: tuple[bool, str], tokens: int) -> float:
        """Return the start time of an arriving call: the end of its graph's last call, or now."""
        if len(self._ends) > _MAX_REMEMBERED:
            self._ends = {key: end for key, end in self._ends.items() if end > self._reached[key[0]]}
        start = max(self._reached[whose[0]], self._ends.get(whose, 0.0))
        self._ends[whose] = start + self._share(tokens)
        return start

    def served(self, behind: bool, start: float) -> None:
        self._reached[behind] = max(self._reached[behind], start)

    def _share(self, tokens: int) -> float:
        """Return a call's share of a minute, of the resource that is scarcer for it."""
        of_requests = 1 / (self._limits.requests_per_minute or _UNLIMITED)
        return max(of_requests, tokens / self._limits.tokens_per_minute if self._limits.tokens_per_minute else 0.0)


class CircuitBreaker:
    """Recent failures of the endpoint, and the time until which it is not called."""

    def __init__(self, limits: EndpointLimits) -> None:
        self._limits = limits
        self._until = 0.0
        self._reason = ""
        self._failures = 0
        self._openings = 0
        self._probing = False
        self.trouble = ""

    def left(self, now: float) -> tuple[float, str]:
        """Return the remaining seconds of the open state, and the reason. During a probe, other calls wait a little
        longer.
        """
        if self._probing:
            return self._limits.cool_down_s, self._reason
        return max(0.0, self._until - now), self._reason

    def probe(self) -> bool:
        """Return whether this call is the probe after the open state of repeated failures."""
        self._probing = self._openings > 0
        return self._probing

    def worked(self) -> None:
        self._failures = self._openings = 0
        self._probing = False
        self.trouble = ""

    def gave_up(self, probing: bool) -> None:
        self._probing = self._probing and not probing

    def failed(self, error: Retryable, now: float) -> None:
        self.trouble = str(error)
        if not self._limits.failures_to_open:
            return
        self._failures += 1
        self._probing = False
        if error.retry_after_s is not None:
            self._shut(error, now, error.retry_after_s)
        elif self._failures >= self._limits.failures_to_open and now >= self._until:
            longest = self._limits.longest_cool_down_s
            self._shut(error, now, min(longest, self._limits.cool_down_s * 2.0 ** min(self._openings, 20)))
            self._openings += 1

    def _shut(self, error: Retryable, now: float, wait_s: float) -> None:
        self._until = max(self._until, now + wait_s)
        self._reason = str(error)


def _loop_timing() -> Timing:
    """Return the running event loop's clock; looked up on use, so that a limiter may be made before the loop."""

    def later(seconds: float, what: Callable[[], None]) -> Callable[[], None]:
        return asyncio.get_running_loop().call_later(seconds, what).cancel

    return Timing(time.monotonic, later)
