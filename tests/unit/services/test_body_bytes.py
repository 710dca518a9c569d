"""The limit on the bytes of all request bodies together."""

from __future__ import annotations

import contextlib
import random

import pytest

from graphtide.services.access.limits.body_bytes import BodyBytes, BodyShare
from graphtide.streams.errors import Overloaded


def test_one_body_may_take_the_total() -> None:
    """A caller's first body is limited by the total only, so the largest batch always fits an idle service."""
    bodies = BodyBytes(100)
    with_all = bodies.body("ada")
    with_all.add(100)
    with pytest.raises(Overloaded, match="100 bytes are in progress already"):
        bodies.body("bob").add(1)
    with_all.close()
    bodies.body("bob").add(100)


def test_many_bodies_of_one_caller_leave_room_for_another() -> None:
    """A greedy caller gets half, and a newcomer finds room."""
    bodies = BodyBytes(1_000)
    assert _filled(bodies, "greedy") <= 500
    bodies.body("newcomer").add(400)


def test_callers_without_a_name_share_the_total() -> None:
    """A caller without a share of its own is limited by the total only."""
    assert _filled(BodyBytes(1_000), "") == 1_000


def _filled(bodies: BodyBytes, name: str) -> int:
    """Return how many bytes bodies of ten bytes of one caller may hold."""
    for number in range(200):
        try:
            bodies.body(name).add(10)
        except Overloaded:
            return number * 10
    raise AssertionError("nothing was refused")


def test_no_more_than_the_total_is_held_whatever_the_order() -> None:
    """Bodies of several callers grow and end at random; every byte is released once."""
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng, bodies, shares = random.Random(seed), BodyBytes(1_000), list[BodyShare]()
    for _ in range(5_000):
        if shares and rng.random() < 0.3:
            shares.pop(rng.randrange(len(shares))).close()
        elif rng.random() < 0.5:
            shares.append(bodies.body(rng.choice(("ada", "bob", ""))))
        elif shares:
            with contextlib.suppress(Overloaded):
                rng.choice(shares).add(rng.randrange(200))
        assert 0 <= bodies.size_bytes <= 1_000
    for share in shares:
        share.close()
    assert bodies.size_bytes == 0
