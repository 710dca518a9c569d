"""The text layer of PDF files as Markdown, by pypdf: lines by position, headings by size, one form feed per page."""

from __future__ import annotations

import io
import logging
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, PyPdfError

from graphtide.infra.files.types import UnreadableFileError

MAX_PAGES = 5_000
_HEADING_RATIO = 1.12
_PARAGRAPH_RATIO = 1.35
_MAX_HEADING_WORDS = 14
_MAX_LEVEL = 4
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~&])")
_PAGE_NUMBER = re.compile(
    r"(?:page|seite|p\.)?\s?(?:[-\u2013]\s?)?(\d{1,4})(?:\s?[-\u2013])?(?:\s?(?:/|of|von)\s?\d{1,4})?", re.IGNORECASE
)
_EDGES = (0, -1)
"""The places of running headers, footers and page numbers: the first and the last line of a page."""
_ERRORS = (
    PyPdfError, DependencyError, ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError,
    TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip
"""The errors of pypdf for a damaged file, and for one with a filter or an encryption that it does not have."""
_BULLET = re.compile(r"[\u2022\u25cf\u25aa\u2023\u25e6\u00b7]\s*")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s")
_HYPHENATED = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    y: float
    size: float
    font: str = ""


def pdf_to_markdown(raw: bytes) -> str:
    """Return the text of all pages. Raises UnreadableFileError, also for a file without a text layer."""
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFileError("is protected by a password; save it without one")
        if len(reader.pages) > MAX_PAGES:
            raise UnreadableFileError(f"has more than {MAX_PAGES} pages; split it")
        pages = [_lines(page) for page in reader.pages]
    except UnreadableFileError:
        raise
    except _ERRORS as error:
        raise UnreadableFileError(f"is not a readable PDF file ({error}); save it again as PDF") from error
    if not any(pages):
        raise UnreadableFileError("has no text layer: it may be scanned; recognise its text first, such as by ocrmypdf")
    return "".join(f"{text}\f" for text in _page_texts(pages))


def _lines(page: Any) -> list[_Line]:
    """Return the lines of a page, from top to bottom as the page draws them."""
    found: list[_Line] = []

    def visit(text: str, current: Sequence[float], matrix: Sequence[float], font: Any, size: float) -> None:
        if text.strip():
            scale = abs(matrix[3] * (current[3] or 1.0)) or 1.0
            name = str((font or {}).get("/BaseFont", ""))
            found.append(_Line(text, matrix[5] * (current[3] or 1.0) + current[5], round(size * scale, 1), name))

    plain = page.extract_text(visitor_text=visit)
    placed = list(_merged(found))
    if sum(len(line.text.split()) for line in placed) < len(plain.split()) * 0.8:
        return [_Line(" ".join(text.split()), -at, 0.0) for at, text in enumerate(plain.splitlines()) if text.strip()]
    return placed


def _merged(found: Sequence[_Line]) -> Iterator[_Line]:
    """Yield lines: pieces of the same height are one line, and a line break within a piece ends one."""
    pending: _Line | None = None
    for piece in found:
        for number, part in enumerate(piece.text.split("\n")):
            if not part.strip():
                continue
            if pending and (number or abs(piece.y - pending.y) > max(piece.size, pending.size, 1.0) * 0.5):
                yield replace(pending, text=" ".join(pending.text.split()))
                pending = None
            font = piece.font if pending is None or pending.font == piece.font else ""
            text, size = (pending.text, pending.size) if pending else ("", 0.0)
            pending = _Line(text + part, piece.y, max(size, piece.size), font)
    if pending:
        yield replace(pending, text=" ".join(pending.text.split()))


def _page_texts(pages: Sequence[Sequence[_Line]]) -> Iterator[str]:
    styles = _Styles([line for page in pages for line in page])
    running = [_repeated(pages, edge) | _numbers(pages, edge) for edge in _EDGES]
    for at, page in enumerate(pages):
        left_out = {edge % len(page) for edge, found in zip(_EDGES, running, strict=True) if at in found}
        yield _page_text([line for number, line in enumerate(page) if number not in left_out], styles)


def _repeated(pages: Sequence[Sequence[_Line]], edge: int) -> set[int]:
    """Return the indexes of the pages whose line at that edge is the one of most pages."""
    texts = {at: page[edge].text for at, page in enumerate(pages) if page}
    counts = Counter(texts.values())
    return {at for at, text in texts.items() if counts[text] > 2 and counts[text] * 2 > len(pages)}


def _numbers(pages: Sequence[Sequence[_Line]], edge: int) -> set[int]:
    """Return the indexes of the pages whose line at that edge is a page number: the number of the page in the file, or
    one that counts up with the pages, as most of the numbers at that edge do.
    """
    found = {at: _PAGE_NUMBER.fullmatch(page[edge].text) for at, page in enumerate(pages) if page}
    offsets = {at: int(match[1]) - at for at, match in found.items() if match}
    counts = Counter(offsets.values())
    usual = {offset for offset, count in counts.items() if count > 1 and count * 2 > len(offsets)}
    return {at for at, offset in offsets.items() if offset in usual or offset == 1}


class _Styles:
    """The sizes and fonts of headings: larger than most of the text, or as large and bold."""

    def __init__(self, lines: Sequence[_Line]) -> None:
        used: Counter[tuple[float, str]] = Counter()
        for line in lines:
            used[line.size, line.font] += len(line.text)
        self._size, self._font = used.most_common(1)[0][0]
        larger = {line.size for line in lines if self._size and line.size >= self._size * _HEADING_RATIO}
        self._levels = sorted(larger, reverse=True)[:_MAX_LEVEL]

    def level(self, line: _Line) -> int:
        """Return the level of the heading that the line is, 0 for none."""
        if len(line.text.split()) > _MAX_HEADING_WORDS:
            return 0
        if line.size in self._levels:
            return self._levels.index(line.size) + 1
        is_bold = "bold" in line.font.lower() and line.font != self._font and line.size >= self._size
        return len(self._levels) + 1 if is_bold and not line.text.endswith((".", ",", ";")) else 0


def _page_text(lines: Sequence[_Line], styles: _Styles) -> str:
    gaps = [above.y - line.y for above, line in pairwise(lines) if above.y > line.y]
    usual = median(gaps) if gaps else 0.0
    out: list[str] = []
    for at, line in enumerate(lines):
        above = lines[at - 1] if at else None
        text, level = _MARKUP.sub(r"\\\1", line.text), styles.level(line)
        above_level = styles.level(above) if above else 0
        if level:
            continues = above_level == level and above is not None and above.y - line.y < usual * _PARAGRAPH_RATIO
            out.append(f" {text}" if continues else f"\n\n{'#' * level} {text}")
        elif _BULLET.match(line.text):
            out.append(f"\n- {_BULLET.sub('', text, count=1)}")
        elif _NUMBERED.match(line.text):
            out.append(f"\n{text}")
        elif above is None or above_level or (usual and above.y - line.y > usual * _PARAGRAPH_RATIO):
            out.append(f"\n\n{text}")
        elif out and _HYPHENATED.search(out[-1]) and line.text[:1].islower():
            out.append(f"{text}")
            out[-2] = out[-2][:-1]
        else:
            out.append(f"\n{text}" if out else text)
    return "".join(out).strip("\n") + "\n"
