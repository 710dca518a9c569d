"""Validity of claims by the definition: a walk through the days that evaluates each claim on each day.

A claim is out of force on a day when it has ended by then: by its own statement, or because some claim of another value
has begun, and had surely not begun when this one began. Days are counted from 1 January of the year 2000.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.graph.validity.timeline import Claim

DAY_US = 86_400 * 10**6


def over_on(claim: Claim, rivals: Sequence[Claim], day_us: int) -> bool:
    """Return whether the claim is over on the day that begins at `day_us`."""
    if claim.ends is not None and claim.ends.end <= day_us:
        return True
    if claim.begins is None:
        return False
    for rival in rivals:
        if rival.value == claim.value or rival.begins is None or rival.begins.start < claim.begins.end:
            continue
        if rival.begins.start <= day_us:
            return True
    return False
