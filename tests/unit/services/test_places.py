"""Fair shares of a concurrency limit, for any sequence of holders."""

from __future__ import annotations

import contextlib
import random
from collections import Counter

import pytest

from graphtide.services.access.places import FairPlaces
from graphtide.streams.errors import Overloaded


def fill(places: FairPlaces, name: str, held: contextlib.ExitStack) -> int:
    """Take as many places as `name` gets, and return how many these are."""
    taken = 0
    with contextlib.suppress(Overloaded):
        while True:
            held.enter_context(places.hold(name))
            taken += 1
    return taken


def test_greedy_holder_leaves_half_of_the_places_to_the_others() -> None:
    """Each greedy holder takes half of what is left; the error names the holder."""
    places = FairPlaces(64, "questions")
    with contextlib.ExitStack() as held:
        assert [fill(places, name, held) for name in "abcd"] == [32, 16, 8, 4]
        with pytest.raises(Overloaded, match="32 questions of a are in progress already"):
            places.hold("a")
    assert places.running == 0


def test_holder_without_a_name_gets_every_place_and_no_more() -> None:
    """The total limits every caller."""
    places = FairPlaces(3)
    with contextlib.ExitStack() as held:
        assert fill(places, "", held) == 3
        with pytest.raises(Overloaded, match="3 requests are in progress already"):
            places.hold("a")
    assert places.running == 0


def test_single_place_is_given_to_any_holder() -> None:
    """A share is at least one place."""
    places = FairPlaces(1)
    with places.hold("a"), pytest.raises(Overloaded):
        places.hold("b")
    with places.hold("b"):
        assert places.running == 1


def test_shares_become_equal_when_greedy_holders_return_their_places() -> None:
    """From any beginning, n holders that end and ask again at random come near 1/(n+1) each."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance, names, places = random.Random(seed), "abc", FairPlaces(40)
    held: list[tuple[str, contextlib.ExitStack]] = []
    for _ in range(20_000):
        name = chance.choice(names)
        with contextlib.suppress(Overloaded), contextlib.ExitStack() as stack:
            stack.enter_context(places.hold(name))
            held.append((name, stack.pop_all()))
        if chance.random() < 0.2 and held:
            held.pop(chance.randrange(len(held)))[1].close()
        assert places.running == len(held) <= 40
    counts = Counter(name for name, _ in held)
    for _, stack in held:
        stack.close()
    assert all(8 <= counts[name] <= 12 for name in names), counts
    assert places.running == 0
