"""Claim resolution: of rival claims on a single-valued property, which one a later claim ends, and when.

Pure, on intervals of time. The rules, in full:

1. A claim begins when its text says so, else when its document happened. It ends when its text says so, or is open.
2. Of two claims of different values the one that begins surely later ends the other at its own beginning, if the other
   is still open then or ends later. "Surely later" means that the intervals do not overlap: March 1961 does not end a
   claim of 1961, nor does a claim of the same day.
3. Claims without any date end each other only under `by_arrival`, by their revisions; the moment is then unknown. A
   dated and an undated claim never end each other, because their order is unknown.
4. Of several claims that end another the earliest counts; of equally early ones, the first by document and value.

Every rule compares two claims by their own content, so the outcome depends on the set of claims alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.graph.text.dates import DateSpan


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that a property has `value`. `begins` and `ends` are None if unknown.

    `explicit`: the text itself states the beginning. `document` and `revision` identify the source.
    """

    value: str
    document: str
    revision: int
    begins: DateSpan | None = None
    ends: DateSpan | None = None
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class Supersession:
    """The claim that ended another, and the moment: None if unknown."""

    at: int | None
    by: Claim


@dataclass(frozen=True, slots=True)
class ClaimStatus:
    """The effect of rivals on a claim: the one that ended it, and whether it replaced an earlier one."""

    ended: Supersession | None
    succeeds: bool


def resolve_claims(claims: Sequence[Claim], by_arrival: bool = False) -> list[ClaimStatus]:
    """Return the status of each claim among its rivals, in their order. Cost: quadratic in the claims."""
    return [ClaimStatus(_ended(claim, claims, by_arrival), _succeeds(claim, claims)) for claim in claims]


def _ended(claim: Claim, rivals: Sequence[Claim], by_arrival: bool) -> Supersession | None:
    enders = [rival for rival in rivals if rival.value != claim.value and _later(rival, claim, by_arrival)]
    if not enders:
        return None
    by = min(enders, key=_rank)
    if by.begins is None:
        return Supersession(None, by)
    if claim.ends is not None and claim.ends.end <= by.begins.start:
        return None
    return Supersession(by.begins.start, by)


def _rank(claim: Claim) -> tuple[object, ...]:
    """Return the sort key: earliest first, then the claim's content; total, so that the order of arrival has no
    influence.
    """
    begins = (claim.begins.start, claim.begins.end) if claim.begins else (claim.revision, 0)
    ends = (claim.ends.start, claim.ends.end) if claim.ends else (0, 0)
    return begins[0], claim.document, claim.value, begins[1], ends, claim.explicit, claim.revision


def _later(one: Claim, other: Claim, by_arrival: bool) -> bool:
    """Return whether `one` begins surely later than `other`."""
    if one.begins is None or other.begins is None:
        return by_arrival and one.begins is None and other.begins is None and one.revision > other.revision
    return one.begins.start >= other.begins.end


def _succeeds(claim: Claim, rivals: Sequence[Claim]) -> bool:
    return any(
        rival.value != claim.value and rival.begins is not None and _later(claim, rival, False) for rival in rivals
    )
