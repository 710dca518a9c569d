"""Rival claims on one thing that has one value at a time: which of them a later one ends, and when.

Pure, on spans of time. The rule, in full:

1. A claim begins when its text says so, else when its document happened. It ends when its text says so, or is open.
2. Of two claims of different values the one that begins surely later ends the other, if that is still open then or
   ends later: at its own beginning. "Surely later" means that the spans do not overlap: March 1961 does not end a
   claim of 1961, nor does a claim of the same day.
3. Claims without any date end each other only under `by_arrival`, by their revisions; then when is not known. A dated
   and an undated claim never end each other: which of them is the later nobody has said.
4. Of several that end a claim the earliest does; of equally early ones, the first by document and value.

Every rule compares two claims by what they themselves say, so the outcome depends on the set of claims alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphtide.graph.dates import DateSpan


@dataclass(frozen=True, slots=True)
class Claim:
    """That a thing has `value`. `begins` and `ends` are None where nothing says.

    `explicit`: the text itself says when it began. `document` and `revision` say who claims it.
    """

    value: str
    document: str
    revision: int
    begins: DateSpan | None = None
    ends: DateSpan | None = None
    explicit: bool = False


@dataclass(frozen=True, slots=True)
class Supersession:
    """What ended a claim, and at which moment: None when that is not known."""

    at: int | None
    by: Claim


@dataclass(frozen=True, slots=True)
class ClaimStatus:
    """What rivals do to a claim: who ended it, and whether it took over from one that stood before."""

    ended: Supersession | None
    succeeds: bool


def resolve_claims(claims: Sequence[Claim], by_arrival: bool = False) -> list[ClaimStatus]:
    """What becomes of each claim among its rivals, in their order. Cost: quadratic in the claims."""
    return [ClaimStatus(_ended(claim, claims, by_arrival), _succeeds(claim, claims)) for claim in claims]


def _ended(claim: Claim, rivals: Sequence[Claim], by_arrival: bool) -> Supersession | None:
    enders = [one for one in rivals if one.value != claim.value and _later(one, claim, by_arrival)]
    if not enders:
        return None
    by = min(enders, key=_rank)
    if by.begins is None:
        return Supersession(None, by)
    if claim.ends is not None and claim.ends.end <= by.begins.start:
        return None
    return Supersession(by.begins.start, by)


def _rank(claim: Claim) -> tuple[object, ...]:
    """Earliest first, and by what claims say where they begin alike: total, so that no order of arrival shows."""
    begins = (claim.begins.start, claim.begins.end) if claim.begins else (claim.revision, 0)
    ends = (claim.ends.start, claim.ends.end) if claim.ends else (0, 0)
    return begins[0], claim.document, claim.value, begins[1], ends, claim.explicit, claim.revision


def _later(one: Claim, other: Claim, by_arrival: bool) -> bool:
    """Whether `one` begins surely later than `other`."""
    if one.begins is None or other.begins is None:
        return by_arrival and one.begins is None and other.begins is None and one.revision > other.revision
    return one.begins.start >= other.begins.end


def _succeeds(claim: Claim, rivals: Sequence[Claim]) -> bool:
    return any(one.value != claim.value and one.begins is not None and _later(claim, one, False) for one in rivals)
