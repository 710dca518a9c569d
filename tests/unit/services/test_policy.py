"""The policy, against a table written by hand, and the gate's shares."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace
from fnmatch import fnmatchcase

import pytest

from graphtide.services.access.credentials import Caller, Credential, call_metadata, credential_in
from graphtide.services.access.gate import AccessGate, CallerRateLimits, network_of
from graphtide.services.access.limits.token_bucket import Buckets
from graphtide.services.access.policy import ANONYMOUS, UNRESTRICTED, Action, Principal, refusal, visible
from graphtide.services.api.schema.errors import Forbidden, Unauthenticated
from graphtide.streams.errors import Overloaded

READER = Principal("reader", ("notes", "team-*"), frozenset({Action.READ}))
WRITER = Principal("writer", ("notes",), frozenset({Action.WRITE}))


@pytest.mark.parametrize(
    ("who", "action", "graph", "expected"),
    [
        (None, Action.READ, "notes", Unauthenticated),
        (None, Action.READ, None, Unauthenticated),
        (READER, Action.READ, "notes", None),
        (READER, Action.READ, "team-a", None),
        (READER, Action.READ, "Team-a", Forbidden),
        (READER, Action.READ, "steam-a", Forbidden),
        (READER, Action.READ, None, None),
        (READER, Action.WRITE, "notes", Forbidden),
        (READER, Action.METRICS, None, Forbidden),
        (WRITER, Action.READ, "notes", Forbidden),
        (WRITER, Action.WRITE, "notes", None),
        (WRITER, Action.ADMIN, "notes", Forbidden),
        (WRITER, Action.WRITE, "*", Forbidden),
        (replace(READER, graphs=("?", "?*", "*?")), Action.READ, "*", Forbidden),
        (replace(READER, graphs=("notes", "*")), Action.READ, "*", None),
        (ANONYMOUS, Action.READ, None, Forbidden),
        (UNRESTRICTED, Action.ADMIN, "notes", None),
    ],
)
def test_refusal_is_as_the_table_says(
    who: Principal | None, action: Action, graph: str | None, expected: type[Exception] | None
) -> None:
    """No action implies another, patterns match literally, an unknown caller has no rights."""
    found = refusal(who, action, graph)
    assert (found is None) if expected is None else isinstance(found, expected)


def test_visible_is_what_refusal_lets_through_for_random_patterns() -> None:
    """The listing and the single question agree."""
    seed = 20261121
    print(f"seed {seed}")
    chance = random.Random(seed)
    graphs = [f"{chance.choice('ab')}{chance.choice('xyz-')}{number % 7}" for number in range(50)]
    for _ in range(200):
        patterns = tuple(chance.choice(["a*", "b?1", "*", "ax3", "?-*"]) for _ in range(chance.randrange(3)))
        who = Principal("p", patterns, frozenset({Action.READ}))
        expected = [graph for graph in graphs if any(fnmatchcase(graph, pattern) for pattern in patterns)]
        assert visible(who, graphs) == expected


def test_credential_is_found_wherever_it_may_stand() -> None:
    """Bearer in any case, the key's own header, bytes and text."""
    assert credential_in([("accept", "x")]) is None
    assert credential_in([(b"authorization", b"bEARER abc")]) == Credential("abc")
    assert credential_in([("x-api-key", " abc ")]) == Credential("abc")
    assert "abc" not in repr(Caller(UNRESTRICTED, Credential("abc")))
    assert call_metadata(Caller(UNRESTRICTED, Credential("abc"))) == (("authorization", "Bearer abc"),)
    assert call_metadata(Caller(UNRESTRICTED)) == ()


def test_bucket_gives_what_was_filled_in_and_forgets_the_oldest() -> None:
    """Burst first, then the rate; a clock that goes back gives nothing; memory is bounded."""
    buckets = Buckets(max_names=3)
    assert [buckets.take("a", 2.0, 2, 0.0) for _ in range(3)] == [0.0, 0.0, 0.5]
    assert buckets.take("a", 2.0, 2, 0.4) == pytest.approx(0.1)
    assert buckets.take("a", 2.0, 2, 0.5) == 0.0
    assert buckets.take("a", 2.0, 2, 0.1) > 0
    for name in "bcde":
        buckets.take(name, 1.0, 1, 1.0)
    assert len(buckets) == 3


def test_places_leave_a_share_for_who_comes_next() -> None:
    """A new caller is served after any greedy ones; an open gate counts no caller."""
    gate = AccessGate(fairness=CallerRateLimits(places=12))
    gate._keys = object()  # type: ignore[assignment]  # any: the gate is not open then, and nothing is read
    callers = [Caller(Principal(name, ("*",), frozenset(Action))) for name in "abc"]
    with contextlib.ExitStack() as places:
        counts = []
        for caller in callers:
            counts.append(0)
            with contextlib.suppress(Overloaded):
                while True:
                    places.enter_context(gate.place(caller))
                    counts[-1] += 1
        assert counts == [6, 3, 2]
    places.close()
    with contextlib.ExitStack() as again:
        for _ in range(6):
            again.enter_context(gate.place(callers[0]))
    with contextlib.ExitStack() as many:
        for _ in range(100):
            many.enter_context(AccessGate(fairness=CallerRateLimits(places=2)).place(Caller(UNRESTRICTED)))


def test_open_gate_lets_pass_what_is_for_a_proxy() -> None:
    """Without configured credentials, the gate ignores a Basic header."""
    assert AccessGate().identify([(b"authorization", b"Basic YTpi")], "127.0.0.1").who is UNRESTRICTED
    assert AccessGate().identify([(b"x-api-key", b"k")], "127.0.0.1").credential == Credential("k")


@pytest.mark.parametrize(
    ("peer", "network"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:db8::1", "2001:db8::"),
        ("2001:db8::ffff:1", "2001:db8::"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::"),
        ("unix:", "unix:"),
    ],
)
def test_tries_are_counted_by_network(peer: str, network: str) -> None:
    """One IPv6 household is one."""
    assert network_of(peer) == network
