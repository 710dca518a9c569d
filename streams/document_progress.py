"""Progress of large documents until readers see them, in the memory of the process that extracts them.

It is shown to users and decides nothing: after a restart it begins again, with the extraction.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

MAX_DOCUMENTS = 256


@dataclass(frozen=True, slots=True)
class DocumentProgress:
    """The passages of a revision, and the number of those that are extracted and embedded. `stage` is "extract", and
    then "apply" until readers see the revision.
    """

    stage: str
    passages: int
    extracted: int
    embedded: int


Report = Callable[[DocumentProgress], None]
"""Receives the progress of one revision."""


class ProgressBoard:
    """The progress of the latest documents, at most MAX_DOCUMENTS. Belongs to the event loop."""

    def __init__(self) -> None:
        self._progress: OrderedDict[tuple[str, str], tuple[int, DocumentProgress]] = OrderedDict()

    def note(self, graph: str, doc_id: str, revision: int, progress: DocumentProgress) -> None:
        """Replace the progress of the document."""
        self._progress[graph, doc_id] = revision, progress
        self._progress.move_to_end((graph, doc_id))
        if len(self._progress) > MAX_DOCUMENTS:
            self._progress.popitem(last=False)

    def of(self, graph: str, doc_id: str, revision: int) -> DocumentProgress | None:
        """Return the progress of this revision; None for one that is small, not begun, or extracted elsewhere."""
        noted = self._progress.get((graph, doc_id))
        return noted[1] if noted is not None and noted[0] == revision else None


def unreported(_: DocumentProgress) -> None:
    """Ignore the progress."""
