"""Address books (.vcf): each card is a document of labelled lines and its note, by icalendar. Cost: linear."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from icalendar.cal import Component
from icalendar.prop.unknown import vUnknown

from graphtide.infra.files.formats.calendar_entries import WRONG_VALUES, cause, components_of, paragraphs, plain
from graphtide.infra.files.records import content_key, usable_id, with_own_ids
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError, labelled_text
from graphtide.streams.model_ports import PLAIN

_PHONES = {"CELL": "mobile", "HOME": "home", "WORK": "work", "FAX": "fax"}
_LABELS = {
    "NICKNAME": "nickname", "ORG": "organisation", "TITLE": "role", "ROLE": "role", "TEL": "phone", "EMAIL": "email",
    "ADR": "address", "BDAY": "birthday", "ANNIVERSARY": "anniversary", "URL": "website", "CATEGORIES": "groups",
}  # fmt: skip
_DATES = frozenset({"BDAY", "ANNIVERSARY"})
_DIGITS = 8
_WITHOUT_ESCAPES = "2.1"
"""The version of cards in which a backslash is a character."""


def read_cards(text: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the cards in their order. Of several with one id the last one counts, and the others are named. Raises
    UnreadableFileError.
    """
    cards = [card for card in components_of(text, ".vcf") if card.name == "VCARD"]
    if not cards:
        raise UnreadableFileError("has no card; export it again")
    yield from with_own_ids(dict(enumerate(map(_document, cards), start=1)), "card")


def _document(card: Component) -> FileDocument | str:
    """Return the document of a card, or the reason why it has none."""
    try:
        return _described(card)
    except WRONG_VALUES as error:
        return f"cannot be read ({cause(error)}); export it again"


def _described(card: Component) -> FileDocument | str:
    if plain(card.get("VERSION")) == _WITHOUT_ESCAPES:
        for prop, value in list(card.items()):
            card[prop] = [_escaped(each) for each in value] if isinstance(value, list) else _escaped(value)
    name = plain(card.get("FN")) or ", ".join(_parts(card.get("N"))) or plain(card.get("ORG"))
    if not name:
        return "has no name; add one"
    fields = {"name": name}
    for prop, label in _LABELS.items():
        values = card.get(prop, [])
        for value in values if isinstance(values, list) else [values]:
            kinds = str(getattr(value, "params", {}).get("TYPE", "")).upper()
            own = next((f"{kind} {label}" for mark, kind in _PHONES.items() if mark in kinds), label)
            text = _date(plain(value)) if prop in _DATES else ", ".join(_parts(value))
            key = own if prop == "TEL" else label
            fields[key] = f"{fields[key]}, {text}" if fields.get(key) else text
    text = labelled_text(fields, paragraphs(card.get("NOTE")))
    uid = usable_id(plain(card.get("UID")))
    return FileDocument(text, PLAIN, uid or content_key({"text": text}), name, "", has_id=bool(uid))


def _escaped(value: Any) -> Any:
    """Return a value of an old card as `plain` expects it."""
    return vUnknown(value.replace("\\", "\\\\")) if isinstance(value, vUnknown) else value


def _parts(value: Any) -> list[str]:
    """Return the parts of a name, an organisation or an address, and another value as it is."""
    fields = getattr(value, "fields", None)
    if fields is None:
        return [plain(value)] if value else []
    return [text for part in fields if (text := plain(part))]


def _date(value: str) -> str:
    """Return 19840219 as 1984-02-19, and another value as it is."""
    if len(value) == _DIGITS and value.isdecimal():
        return f"{value[:4]}-{value[4:6]}-{value[6:]}"
    return value
