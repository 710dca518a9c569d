"""Validity intervals of a live view's statements: from each passage's own dates and from later claims.

A reader works under the view's lock, for one question; it caches what it read, so it is discarded with the question. It
changes nothing. Invariant: the result depends on the live documents alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from graphtide.graph.records import EvidenceRow
from graphtide.graph.text.dates import DateSpan, date_span
from graphtide.graph.validity.predicates import FunctionalPredicate
from graphtide.graph.validity.timeline import Claim, ClaimStatus, Supersession, resolve_claims
from graphtide.graph.view import LiveView

MAX_STATEMENTS = 2_000  # of one entity: beyond it, only a passage's own dates count
MAX_CLAIMS = 200

_Support = tuple[int, int]
_UNTROUBLED = ClaimStatus(None, False)


@dataclass(frozen=True, slots=True)
class ValidityInterval:
    """The validity of a relation according to its passages: ISO dates as written, "" if unknown.

    `ended_by` is (document, revision) of the later, contradicting document, and `superseding_value` that document's
    statement.
    """

    valid_from: str = ""
    valid_to: str = ""
    ended_by: tuple[str, int] | None = None
    superseding_value: str = ""


class ValidityReader:
    """The validity of statements, by the view's table of predicates and, if a question names one, at a moment."""

    def __init__(self, view: LiveView, as_of: str = "") -> None:
        """Create a reader. `as_of` is an ISO date of any precision, or "". Raises ValueError for an invalid date."""
        self._view = view
        self._table = view.functional_predicates
        self._moment = date_span(as_of) if as_of else None
        if as_of and self._moment is None:
            raise ValueError(f"as_of {as_of!r} is not an ISO date: write 2019, 2019-05 or 2019-05-31")
        self._known: dict[tuple[str, int], dict[_Support, ClaimStatus]] = {}

    @property
    def asked(self) -> bool:
        """Return whether the question names a moment."""
        return self._moment is not None

    def in_force(self, row: EvidenceRow) -> bool:
        """Return whether a passage's support for a statement may have been valid at the question's moment.

        It was valid unless it is known that it was not: an undated statement is always valid. Without a moment
        everything is valid.
        """
        if self._moment is None:
            return True
        claim, found = self._claim(row), self._standing(row)
        if claim.begins and self._moment.end <= claim.begins.start and (claim.explicit or found.succeeds):
            return False
        return not _over(claim.ends, found.ended, self._moment)

    def statement_in_force(self, number: int) -> bool:
        """Return whether any passage supports the statement at the question's moment."""
        return self._moment is None or any(map(self.in_force, self._supports(number)))

    def passage_in_force(self, chunk: int) -> bool:
        """Return whether the passage states anything valid at the moment, or states nothing at all."""
        evidence = self._view.chunks[chunk].evidence
        return self._moment is None or not evidence or any(map(self.in_force, evidence))

    def of_support(self, row: EvidenceRow) -> ValidityInterval:
        """Return the validity of one passage's support for a statement, for display."""
        ended = self._standing(row).ended
        if ended is None:
            return ValidityInterval(row.valid_from, row.valid_to)
        by = ended.by
        return ValidityInterval(
            row.valid_from, row.valid_to or self._written(by), (by.document, by.revision), self._named(by.value)
        )

    def of_relation(self, numbers: Iterable[int]) -> ValidityInterval:
        """Return the validity of a relation with several statements: that of the passage with the latest end.

        Cost: the statements' passages and rivals.
        """
        rows = [row for number in numbers for row in self._supports(number) if self.in_force(row)]
        if len(rows) == 1:
            return self.of_support(rows[0])
        supports = sorted(rows, key=lambda row: (self._view.chunks[row.chunk].chunk_id, row.valid_from, row.valid_to))
        intervals = [self.of_support(row) for row in supports]
        return max(
            intervals,
            key=lambda each: (each.ended_by is None, not each.valid_to, each.valid_to),
            default=ValidityInterval(),
        )

    def _supports(self, number: int) -> list[EvidenceRow]:
        chunks = self._view.statements[number].chunks
        return [row for chunk in chunks for row in self._view.chunks[chunk].evidence.of(number)]

    def _standing(self, row: EvidenceRow) -> ClaimStatus:
        family = self._family(row.statement)
        if family is None:
            return _UNTROUBLED
        anchor, _ = self._ends(row.statement, family)
        known = self._known.get((family.name, anchor))
        if known is None:
            known = self._known[family.name, anchor] = self._read(family, anchor)
        return known.get((row.statement, row.chunk), _UNTROUBLED)

    def _read(self, family: FunctionalPredicate, anchor: int) -> dict[_Support, ClaimStatus]:
        """Resolve every claim of the family on one entity. Cost: the entity's statements, up to a limit."""
        view = self._view
        numbers = list(islice(view.statements_of(anchor), MAX_STATEMENTS + 1))
        if len(numbers) > MAX_STATEMENTS:
            return {}
        rivals = {
            number for number in numbers if self._family(number) is family and self._ends(number, family)[0] == anchor
        }
        rows = [row for number in rivals for row in self._supports(number)]
        if len(rows) > MAX_CLAIMS:
            return {}
        found = resolve_claims([self._claim(row) for row in rows], self._table.by_arrival)
        return {(row.statement, row.chunk): each for row, each in zip(rows, found, strict=True)}

    def _family(self, number: int) -> FunctionalPredicate | None:
        """Return the family of a statement's predicate: its own, or else the one family of its merged predicates."""
        view = self._view
        predicate = view.statements[number].predicate
        own = self._table.family(predicate)
        if own is not None or view.predicates.members(predicate) == (predicate,):
            return own
        families = {family for each in view.predicates.members(predicate) if (family := self._table.family(each))}
        return families.pop() if len(families) == 1 else None

    def _ends(self, number: int, family: FunctionalPredicate) -> tuple[int, int]:
        """Return (the entity that has one value, the value) of a statement, by node."""
        subject, object_ = self._view.ends(number)
        return (subject, object_) if family.one == "object" else (object_, subject)

    def _claim(self, row: EvidenceRow) -> Claim:
        view = self._view
        document = view.documents[view.chunks[row.chunk].doc_id]
        family = self._family(row.statement)
        value = self._ends(row.statement, family)[1] if family else row.statement
        stated, happened = date_span(row.valid_from), date_span(document.info.occurred_at)
        name = view.entity_id(value) if family else str(value)
        ends = date_span(row.valid_to)
        return Claim(name, document.doc_id, document.revision, stated or happened, ends, stated is not None)

    def _written(self, by: Claim) -> str:
        """Return the date at which a claim replaced another, as its document writes it."""
        if not by.explicit:
            return self._view.documents[by.document].info.occurred_at
        rows = (
            row
            for chunk in self._view.documents[by.document].chunks
            for row in self._view.chunks[chunk].evidence
            if self._claim(row) == by
        )
        return next((row.valid_from for row in rows), "")

    def _named(self, value: str) -> str:
        return self._view.entities[self._view.entity_nodes[value]].name


def _over(ends: DateSpan | None, ended: Supersession | None, moment: DateSpan) -> bool:
    """Return whether a claim is known to have ended when the moment begins."""
    if ends is not None and ends.end <= moment.start:
        return True
    return ended is not None and ended.at is not None and ended.at <= moment.start
