"""Text of files: in the encoding that they declare, UTF-8, UTF-16 with a mark, else the most probable one.

charset-normalizer gives the candidates. Where several code pages of Latin letters fit equally, that one is taken whose
characters belong to one language: `à` and `é` are French, `ŕ` and `é` would be no language that has `ç`, too.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from charset_normalizer import CharsetMatch, from_bytes

from graphtide.infra.files.types import UnreadableFileError

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"))
_MARKS_16 = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SAMPLE_BYTES = 1 << 18
_LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1254", "mac_roman")
"""Code pages of Latin letters, the most common one first: it is taken where none fits better."""
_COMMON = [
    *_LATIN, "cp1251", "koi8_r", "cp1253", "shift_jis", "euc_jp", "gb18030", "euc_kr", "big5"
]  # fmt: skip
_LANGUAGES = (
    "àâæçéèêëîïôœùûüÿ", "äöüßé", "áéíñóúüçºª¿¡", "ãáàâçéêíóôõúüºª", "àèéìíîòóùú", "åäöéüà", "æøåéö", "áðéíóúýþæö",
    "éëïóöüèê", "ąćęłńóśźż", "áčďéěíňóřšťúůýžöüä", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "ăâîşţșț", "čćđšž",
    "çğıöşüâîû",
)  # fmt: skip
"""The letters beyond ASCII of French, German, Spanish, Portuguese, Italian, Swedish, Danish, Icelandic, Dutch, Polish,
Czech, Slovak, Hungarian, Romanian, Croatian and Turkish.
"""
_SIGNS = frozenset("\u00a0\u00ad«»‘’‚“”„†‡•–—…€£¥°§©®™·½¼¾²³µ×÷±¬´¨")  # noqa: RUF001 - signs of many code pages
_NEAR = 0.1
"""Candidates whose disorder is at most this much greater than the best one's fit as well."""
_BROKEN_SHARE = 0.5
"""UTF-8 with damaged places has at most this many of them for each character beyond ASCII that is whole."""
_MAX_TAIL_BYTES = 3
_HEAD_BYTES = 2_048
_DECLARED = re.compile(rb"<meta\s[^<>]{0,200}?charset\s{0,5}=\s{0,5}[\"']?([\w:.-]{1,40})", re.IGNORECASE)


def decode_text(raw: bytes, declared: str = "") -> str:
    """Return the text. `declared` is the encoding that the file names for itself, such as a page, if any; it is used if
    the text can be decoded by it. Raises UnreadableFileError for binary content.
    """
    for mark, encoding in (*_MARKS, *_MARKS_16):
        if raw.startswith(mark):
            return _decoded(raw, encoding)
    if b"\0" in raw[:_SAMPLE_BYTES]:
        raise UnreadableFileError("contains binary data and is not a text; convert it to text")
    text = _strict(raw, "utf-8") or _strict(raw, declared) or _damaged_utf8(raw)
    return _decoded(raw, _probable(_sample(raw))) if text is None else text.replace("\0", "")


def declared_encoding(page: bytes) -> str:
    """Return the encoding that a page of HTML names for itself; "" without one."""
    found = _DECLARED.search(page[:_HEAD_BYTES])
    return found[1].decode("ascii", "replace") if found else ""


def known_encoding(name: str) -> str:
    """Return Python's name of an encoding that a file declares, "" for an unknown one, and for those of program text
    and of host names, which no document has: the time of some grows with the square of the length.
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    return "" if found in _NOT_OF_DOCUMENTS else found


_NOT_OF_DOCUMENTS = frozenset({"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"})


def _strict(raw: bytes, declared: str) -> str | None:
    """Return the text in the encoding; None if it is not, or no such encoding is known."""
    try:
        return raw.decode(known_encoding(declared) or "ascii")
    except (LookupError, ValueError):
        return None


def _damaged_utf8(raw: bytes) -> str | None:
    """Return a text in UTF-8 of which a few characters are damaged, such as the last one of a log that was cut; None if
    it is another encoding.
    """
    text = raw.decode(errors="replace")
    damaged = text.count("\ufffd")
    whole = sum(not char.isascii() for char in text) - damaged
    is_cut = damaged == 1 and len(raw.decode(errors="ignore").encode()) >= len(raw) - _MAX_TAIL_BYTES and whole > 0
    return text if damaged <= _BROKEN_SHARE * whole or (is_cut and text.endswith("\ufffd")) else None


def _sample(raw: bytes) -> bytes:
    """Return a part of the text that is not too long, with the lines that are not ASCII first."""
    if len(raw) <= _SAMPLE_BYTES:
        return raw
    lines = [line for line in raw.splitlines(keepends=True) if not line.isascii()]
    return b"".join(lines)[:_SAMPLE_BYTES]


def _probable(sample: bytes) -> str:
    """Return the most probable encoding. Raises UnreadableFileError."""
    found = from_bytes(sample, cp_isolation=_COMMON)
    best = found.best()
    if best is None:
        raise UnreadableFileError("has an unknown text encoding; save it as UTF-8")
    near = [each for each in found if each.encoding in _LATIN and each.chaos <= best.chaos + _NEAR]
    return min(near, key=_foreign_characters).encoding if near else best.encoding


def _foreign_characters(match: CharsetMatch) -> tuple[int, int]:
    """Return how many characters the nearest language lacks, and the place of the encoding among equal ones."""
    text = [char for char in str(match).lower() if not char.isascii() and char not in _SIGNS]
    return min(_missing(text, each) for each in _LANGUAGES), _LATIN.index(match.encoding)


def _missing(text: Sequence[str], letters: str) -> int:
    known = frozenset(letters)
    return sum(char not in known for char in text)


def _decoded(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding).replace("\0", "")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"is not {encoding} (byte {error.start}); save it as UTF-8") from error
