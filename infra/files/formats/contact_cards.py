"""Address books (.vcf): each card is a document of labelled lines and its note, by icalendar. Cost: linear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from icalendar.cal import Component

from graphtide.infra.files.records import content_key
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError, labelled_text
from graphtide.streams.model_ports import PLAIN

MAX_CARDS_CHARS = 64 << 20
"""Cards are read as a whole, which takes some ten times their size."""
_PHONES = {"CELL": "mobile", "HOME": "home", "WORK": "work", "FAX": "fax"}
_LABELS = {
    "NICKNAME": "nickname", "ORG": "organisation", "TITLE": "role", "ROLE": "role", "TEL": "phone", "EMAIL": "email",
    "ADR": "address", "BDAY": "birthday", "ANNIVERSARY": "anniversary", "URL": "website", "CATEGORIES": "groups",
}  # fmt: skip
_DATES = frozenset({"BDAY", "ANNIVERSARY"})
_DIGITS = 8


def read_cards(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the cards in their order. Of several with one id the last one counts, and the others are named. Raises
    UnreadableFileError.
    """
    if len(text) > MAX_CARDS_CHARS:
        raise UnreadableFileError(f"is longer than {MAX_CARDS_CHARS >> 20} MiB; export a part of it")
    try:
        cards = [card for card in Component.from_ical(text, multiple=True) if card.name == "VCARD"]
    except (ValueError, KeyError, IndexError, AttributeError, TypeError) as error:
        raise UnreadableFileError(f"is not a readable .vcf file ({error}); export it again") from error
    if not cards:
        raise UnreadableFileError("has no card; export it again")
    found = [_document(card) for card in cards]
    last = {entry.key: number for number, entry in enumerate(found, start=1) if isinstance(entry, FileDocument)}
    for number, entry in enumerate(found, start=1):
        if isinstance(entry, FileDocument) and last[entry.key] != number:
            yield RecordProblem(number, f"has the id {entry.key!r} of card {last[entry.key]}; export it again")
        else:
            yield entry if isinstance(entry, FileDocument) else RecordProblem(number, entry)


def _document(card: Component) -> FileDocument | str:
    """Return the document of a card, or the reason why it has none."""
    name = _plain(card.get("FN")) or ", ".join(_parts(card.get("N"))) or _plain(card.get("ORG"))
    if not name:
        return "has no name; add one"
    fields = {"name": name}
    for prop, label in _LABELS.items():
        values = card.get(prop, [])
        for value in values if isinstance(values, list) else [values]:
            kinds = str(getattr(value, "params", {}).get("TYPE", "")).upper()
            own = next((f"{kind} {label}" for mark, kind in _PHONES.items() if mark in kinds), label)
            text = _date(_plain(value)) if prop in _DATES else ", ".join(_parts(value))
            key = own if prop == "TEL" else label
            fields[key] = f"{fields[key]}, {text}" if fields.get(key) else text
    text = labelled_text(fields, str(card.get("NOTE", "")).strip())
    uid = _plain(card.get("UID"))
    return FileDocument(text, PLAIN, uid or content_key({"text": text}), name, "", has_id=bool(uid))


def _parts(value: Any) -> list[str]:
    """Return the parts of a name, an organisation or an address, and another value as it is."""
    fields = getattr(value, "fields", None)
    if fields is None:
        return [_plain(value)] if value else []
    return [text for part in fields if (text := _plain(part))]


def _date(value: str) -> str:
    """Return 19840219 as 1984-02-19, and another value as it is."""
    if len(value) == _DIGITS and value.isdecimal():
        return f"{value[:4]}-{value[4:6]}-{value[6:]}"
    return value


def _plain(value: Any) -> str:
    return " ".join(str(value or "").split())
