"""Address books (.vcf): each card is a document of labelled lines and its note, by icalendar. Cost: linear."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Sequence
from typing import Any

from icalendar.cal import Component
from icalendar.cal.component_factory import ComponentFactory
from icalendar.parser import Contentline
from icalendar.parser.ical import ComponentIcalParser
from icalendar.prop import vBroken
from icalendar.prop.unknown import vUnknown

from graphtide.infra.files.encoding import known_encoding
from graphtide.infra.files.formats.calendar_entries import (
    WRONG_VALUES,
    cause,
    components_of,
    lines_of,
    paragraphs,
    plain,
    unfolded,
)
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
_GROUP = re.compile(r"[A-Za-z0-9-]{1,64}\.(?=[A-Za-z])")
_ENCODINGS = frozenset({"QUOTED-PRINTABLE", "BASE64", "B", "7BIT", "8BIT"})
_SEPARATOR = re.compile(r"(?<!\\);")


class _Card(Component):
    """A card of which a property that icalendar cannot read leaves the others."""

    name = "VCARD"
    ignore_exceptions = True


def read_cards(content: str | bytes) -> Iterator[FileDocument | RecordProblem]:
    """Yield the cards in their order. Of several with one id the last one counts, and the others are named. Raises
    UnreadableFileError.
    """
    text = unfolded(content)
    cards = list(_cards(text))
    if not cards:
        components_of(text, ".vcf")
        raise UnreadableFileError("has no card; export it again")
    yield from with_own_ids(dict(enumerate(map(_document, cards), start=1)), "card")


def _cards(text: str) -> Iterator[list[Contentline]]:
    """Yield the lines of each card."""
    card: list[Contentline] = []
    for line in _joined(lines_of(text)):
        mark = line.strip().upper()
        if card and mark == "BEGIN:VCARD":
            yield card  # it has no end
            card = []
        if card or mark == "BEGIN:VCARD":
            card.append(line)
        if card and mark == "END:VCARD":
            yield card
            card = []
    if card:
        yield card


def _joined(lines: Iterator[str]) -> Iterator[Contentline]:
    """Yield the lines as vCard 3.0 and icalendar have them; one in quoted-printable may continue on the next ones."""
    for line in lines:
        head, colon, value = _split(line)
        if not colon:
            yield _content_line(line)
            continue
        name, *params = head.split(";")
        types, others = _params(params)
        if "ENCODING=QUOTED-PRINTABLE" in map(str.upper, others):
            pieces = [value]
            while pieces[-1].endswith("="):
                pieces[-1] = pieces[-1][:-1]
                pieces.append(next(lines, ""))
            value = "".join(pieces)
            charset = next((each[8:] for each in others if each.upper().startswith("CHARSET=")), "utf-8")
            value = _from_quoted_printable(value, charset)
        head = ";".join([_GROUP.sub("", name, count=1), *others, *([f"TYPE={','.join(types)}"] if types else [])])
        yield _content_line(f"{head}:{value}")


def _split(line: str) -> tuple[str, str, str]:
    """Return name and parameters, the colon, and the value; no colon for a line that stays as it is."""
    at = _content_line(line).value_separator_index()
    return ("", "", line) if at < 0 or '"' in line[:at] else (line[:at], ":", line[at + 1 :])


def _content_line(text: str) -> Contentline:
    return Contentline(text)  # type: ignore[no-untyped-call]  # icalendar types some of its functions alone


def _params(params: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the values of all TYPE parameters, and the other parameters. Old cards leave the names out."""
    types, others = [], []
    for param in filter(None, map(str.strip, params)):
        key, named, value = param.partition("=")
        if not named and key.upper() in _ENCODINGS:
            others.append(f"ENCODING={key}")
        elif not named or key.upper() == "TYPE":
            types.append(value if named else key)
        else:
            others.append(param)
    return types, others


def _from_quoted_printable(value: str, charset: str) -> str:
    """Return a value of an old card in one line."""
    raw = quopri.decodestring(value.encode())
    try:
        text = raw.decode(known_encoding(charset) or "utf-8", "replace")
    except LookupError:  # of Python, but for no text
        text = raw.decode(errors="replace")
    return " ".join(text.splitlines())


def _document(lines: list[Contentline]) -> FileDocument | str:
    """Return the document of a card, or the reason why it has none."""
    factory = ComponentFactory()
    factory.add_component_class(_Card)
    try:
        found = ComponentIcalParser(lines, factory, Component.types_factory).parse()
        return _described(found[0]) if found else "has no line END:VCARD; export it again"
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
    return vUnknown(value.replace("\\", "\\\\"), params=value.params) if isinstance(value, vUnknown) else value


def _parts(value: Any) -> list[str]:
    """Return the parts of a name, an organisation or an address, and another value as it is."""
    if isinstance(value, vBroken):  # such as a name of two parts
        return [text for part in _SEPARATOR.split(value) if (text := plain(vUnknown(part)))]
    fields = getattr(value, "fields", None)
    if fields is None:
        return [plain(value)] if value else []
    return [text for part in fields if (text := plain(part))]


def _date(value: str) -> str:
    """Return 19840219 as 1984-02-19, and another value as it is."""
    if len(value) == _DIGITS and value.isdecimal():
        return f"{value[:4]}-{value[4:6]}-{value[6:]}"
    return value
