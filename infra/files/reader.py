"""The reader of a file of any known format: `read_path` gives its documents, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from graphtide.graph.text.dates import date_span
from graphtide.graph.text.storable import storable
from graphtide.infra.documents.description import describe
from graphtide.infra.files.encoding import declared_encoding, decode_text
from graphtide.infra.files.formats.mail import mail_to_text
from graphtide.infra.files.formats.mailbox import read_mailbox
from graphtide.infra.files.names import date_of, title_of
from graphtide.infra.files.parts import parts_of
from graphtide.infra.files.records import read_json, read_records
from graphtide.infra.files.types import (
    INSTALL,
    EmptyFileError,
    FileDocument,
    MissingReaderError,
    RecordProblem,
    UnreadableFileError,
)
from graphtide.streams.model_ports import CSV, MARKDOWN, PLAIN

READER_VERSION = 5
"""Changes when a file gives another text or date than before, so that files are read again after an upgrade, and
published where they differ.
"""
MAX_FILE_BYTES = 256 << 20
_TEXTS = {
    **dict.fromkeys((".md", ".markdown", ".mdx", ".qmd"), MARKDOWN),
    **dict.fromkeys((".txt", ".text", ".log"), PLAIN),
    **dict.fromkeys((".csv", ".tsv"), CSV),
}
_CONVERTERS = {
    ".html": ("graphtide.infra.files.formats.html.page", "html_to_markdown"),
    ".htm": ("graphtide.infra.files.formats.html.page", "html_to_markdown"),
    ".docx": ("graphtide.infra.files.formats.docx", "docx_to_markdown"),
    ".pdf": ("graphtide.infra.files.formats.pdf", "pdf_to_markdown"),
    ".xlsx": ("graphtide.infra.files.formats.spreadsheet", "xlsx_to_markdown"),
}
_CAPTIONS = (".vtt", ".srt")
_PANDOC_READERS = {
    ".rst": "rst",
    ".adoc": "asciidoc",
    ".asciidoc": "asciidoc",
    ".org": "org",
    ".odt": "odt",
    ".pptx": "pptx",
    ".ipynb": "ipynb",
    ".epub": "epub",
    ".rtf": "rtf",
    ".tex": "latex",
    ".typ": "typst",
    ".textile": "textile",
    ".mediawiki": "mediawiki",
}
"""The suffixes of files that pandoc reads, and its names of their formats."""
_PAGES = (".html", ".htm")
_ENTRIES = {
    ".ics": ("graphtide.infra.files.formats.calendar_entries", "read_calendar"),
    ".vcf": ("graphtide.infra.files.formats.contact_cards", "read_cards"),
}
_RECORDS = (".jsonl", ".ndjson")
FORMATS = (
    "text, Markdown, CSV, JSON lines, JSON lists, HTML, Word, Excel, PDF, mails, captions, calendars, contact cards,"
    " and with pandoc a dozen more"
)
"""The formats by name, for messages; the help of the commands repeats them, docs/files.md lists the suffixes."""
ALL_SUFFIXES = frozenset(
    {*_TEXTS, *_CONVERTERS, *_CAPTIONS, *_PANDOC_READERS, *_RECORDS, *_ENTRIES, ".eml", ".mbox", ".json"}
)


def unknown_format(suffix: str) -> str:
    """Return why a file with that suffix, which is not in ALL_SUFFIXES, is not read, and the remedy."""
    reason = f"no reader for {suffix}" if suffix else "no reader for a name without a suffix"
    return f"{reason}; convert it to text, Markdown, HTML, PDF or DOCX"


def read_path(path: Path) -> Iterator[FileDocument | RecordProblem]:
    """Yield the documents of a file. Raises UnreadableFileError with the reason, OSError for an unreadable path."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise UnreadableFileError(f"is larger than {MAX_FILE_BYTES >> 20} MiB; split it")
    yield from read_bytes(path.read_bytes(), path.name)


def read_bytes(raw: bytes, name: str) -> Iterator[FileDocument | RecordProblem]:
    """Yield the documents of a file with that name and content. Raises UnreadableFileError with the reason, also where
    a reader fails on a damaged file with an error of its own.
    """
    try:
        yield from _read(raw, name)
    except UnreadableFileError:
        raise
    except MemoryError as error:
        raise MissingReaderError("needs more memory than there is; split it") from error
    except Exception as error:
        kind = type(error).__name__
        raise UnreadableFileError(
            f"is damaged, or in a form that its reader does not know ({kind}); save it again"
        ) from error


def _read(raw: bytes, name: str) -> Iterator[FileDocument | RecordProblem]:
    suffix = Path(name).suffix.lower()
    if suffix in _RECORDS:
        yield from read_records(decode_text(raw))
    elif suffix == ".json":
        yield from read_json(decode_text(raw))
    elif suffix in _ENTRIES:
        for entry in _converter(suffix, *_ENTRIES[suffix])(raw):
            yield from parts_of(_stored(entry)) if isinstance(entry, FileDocument) else (entry,)
    elif suffix == ".mbox":
        for mail in read_mailbox(raw):
            yield from parts_of(_described(mail, name)) if isinstance(mail, FileDocument) else (mail,)
    else:
        yield from parts_of(_described(_document(raw, suffix), name))


def _document(raw: bytes, suffix: str) -> FileDocument:
    if suffix in _TEXTS:
        document = FileDocument(decode_text(raw), _TEXTS[suffix])
    elif suffix == ".eml":
        document = FileDocument(mail_to_text(raw), PLAIN)
    elif suffix in _CONVERTERS:
        convert = _converter(suffix, *_CONVERTERS[suffix])
        text = convert(decode_text(raw, declared_encoding(raw))) if suffix in _PAGES else convert(raw)
        document = FileDocument(storable(text), MARKDOWN)
    elif suffix in _CAPTIONS:
        convert = _converter(suffix, "graphtide.infra.files.formats.captions", "captions_to_markdown")
        document = FileDocument(storable(convert(decode_text(raw), suffix)), MARKDOWN)
    elif suffix in _PANDOC_READERS:
        convert = _converter(suffix, "graphtide.infra.files.formats.pandoc", "pandoc_to_markdown")
        document = FileDocument(storable(convert(raw, suffix, _PANDOC_READERS[suffix])), MARKDOWN)
    else:
        raise UnreadableFileError(unknown_format(suffix))
    if not document.text.strip():
        raise EmptyFileError("is empty")
    return document


def _stored(document: FileDocument) -> FileDocument:
    """Return the document as it can be stored."""
    return replace(document, text=storable(document.text), title=storable(document.title))


def _converter(suffix: str, module: str, function: str) -> Callable[..., Any]:
    try:
        convert: Callable[..., Any] = getattr(import_module(module), function)
    except ImportError as error:
        raise MissingReaderError(f"is a {suffix} file, and {error.name} is missing; {INSTALL}") from error
    return convert


def _described(document: FileDocument, name: str) -> FileDocument:
    """Return the document with the date that its text states, otherwise that of the file's name, and with the title of
    the name where its text states none. So a document in which a later version finds a date is another document.
    """
    stated = describe(document.text, document.media_type)
    title = "" if stated.title else title_of(name)
    occurred_at = stated.occurred_at or date_of(name)
    return replace(document, title=title, occurred_at=occurred_at if date_span(occurred_at) else "")
