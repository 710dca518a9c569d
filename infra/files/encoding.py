"""Text of files whose encoding is not declared: UTF-8, UTF-16 with a mark, else the most probable one."""

from __future__ import annotations

import codecs

from charset_normalizer import from_bytes

from graphtide.infra.files.types import UnreadableFileError

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"))
_MARKS_16 = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SAMPLE_BYTES = 1 << 18
_COMMON = ["cp1252", "iso8859_15", "cp1250", "cp1251", "mac_roman", "shift_jis", "gb18030", "euc_kr", "big5"]


def decode_text(raw: bytes) -> str:
    """Return the text. Raises UnreadableFileError for binary content."""
    for mark, encoding in (*_MARKS, *_MARKS_16):
        if raw.startswith(mark):
            return _decoded(raw, encoding)
    if b"\0" in raw[:_SAMPLE_BYTES]:
        raise UnreadableFileError("contains binary data and is not a text; convert it to text")
    try:
        return raw.decode().replace("\0", "")
    except UnicodeDecodeError:
        pass
    found = from_bytes(raw[:_SAMPLE_BYTES], cp_isolation=_COMMON).best()
    if found is None:
        raise UnreadableFileError("has an unknown text encoding; save it as UTF-8")
    return _decoded(raw, found.encoding)


def _decoded(raw: bytes, encoding: str) -> str:
    try:
        return raw.decode(encoding).replace("\0", "")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"is not {encoding} (byte {error.start}); save it as UTF-8") from error
