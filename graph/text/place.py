"""The place of a passage in its document: the path of its headings, its page, its row in a table, and its kind.

The invariant: equal places have equal JSON, and the place of a text without structure is empty.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

PATH_SEPARATOR = " > "


class PassageKind(StrEnum):
    """The kinds of passages of a structured document."""

    TEXT = ""
    TABLE = "table"
    """One table row per line, each value after the name of its column: `Name: X; Town: Y`."""
    CODE = "code"
    """Code or another preformatted text, verbatim. No extractor reads it."""
    QUOTE = "quote"
    """A text that another person wrote, such as the earlier mail in a reply."""


@dataclass(frozen=True, slots=True)
class Place:
    """The headings above a passage, outermost first, without the document's title; its page and its first table row.

    Pages and rows count from 1; 0 means that there is none. `lead_in` is the sentence that introduces the passage's
    list, if the passage does not contain it.
    """

    headings: tuple[str, ...] = ()
    page: int = 0
    row: int = 0
    kind: PassageKind = PassageKind.TEXT
    lead_in: str = ""

    @property
    def path(self) -> str:
        """Return the context of the passage in one line: its headings, then its introduction."""
        return PATH_SEPARATOR.join((*self.headings, self.lead_in) if self.lead_in else self.headings)

    def known(self) -> dict[str, object]:
        """Return the parts that are known, by name: the JSON form."""
        kind = str(self.kind)
        parts = {"headings": list(self.headings), "page": self.page, "row": self.row, "kind": kind}
        return {name: value for name, value in {**parts, "lead_in": self.lead_in}.items() if value}

    def encode(self) -> str:
        """Return the place as canonical JSON, "" for the empty place."""
        known = self.known()
        return json.dumps(known, ensure_ascii=False, separators=(",", ":")) if known else ""


NO_PLACE = Place()


def decode_place(text: str) -> Place:
    """Return the place that `Place.encode` wrote. Raises ValueError, KeyError or TypeError for another text."""
    if not text:
        return NO_PLACE
    body = json.loads(text)
    headings = tuple(map(str, body.get("headings", ())))
    kind = PassageKind(body.get("kind", ""))
    return Place(headings, int(body.get("page", 0)), int(body.get("row", 0)), kind, str(body.get("lead_in", "")))


def path_title(title: str, place: Place) -> str:
    """Return the title of a document followed by the context of a passage in it."""
    return PATH_SEPARATOR.join(filter(None, (title, place.path)))
