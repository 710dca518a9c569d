"""The sources of `publish`: files, folders and standard input, read as documents in the format of the contract.

The service validates the documents. The invariant: every named source that cannot be read is reported, never skipped
silently.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphtide.graph.text.dates import date_span
from graphtide.infra.files.encoding import decode_text
from graphtide.infra.files.reader import ALL_SUFFIXES, FORMATS, read_path, unknown_format
from graphtide.infra.files.records import read_records
from graphtide.infra.files.types import FileDocument, RecordProblem, UnreadableFileError
from graphtide.services.cli.exit_codes import USAGE, CommandError

_RECORDS = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document as one line of NDJSON; `name` identifies it in errors."""

    name: str
    doc_id: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source that could not be read as a document, and the reason. `content` identifies a line of records whose
    number, which is in the name, may change.
    """

    name: str
    reason: str
    content: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file to publish, and the id of its document, or the prefix of its documents' ids."""

    path: Path
    doc_id: str


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The sources that the arguments of `publish` select."""

    files: tuple[File, ...]
    standard_input: bool
    doc_id: str

    def read(self) -> Iterator[DocumentSource | Unreadable]:
        """Yield all documents, with one file in memory at a time."""
        for file in self.files:
            yield from read_file(file)
        if self.standard_input:
            yield from read_standard_input(self.doc_id)


def find_documents(arguments: Sequence[str], doc_id: str) -> FoundFiles:
    """Return the sources to publish. Raises CommandError when one does not exist, or none is found."""
    files = find_files([each for each in arguments if each != "-"])
    if not files and "-" not in arguments:
        raise CommandError(
            f"no file of a known format found in the arguments ({FORMATS}); name other files or folders", USAGE
        )
    return FoundFiles(tuple(files), "-" in arguments, doc_id)


def find_files(arguments: Sequence[str]) -> list[File]:
    """Return the selected files, each once, folders in order of name. Raises CommandError for missing ones."""
    found: dict[Path, File] = {}
    for argument in arguments:
        path = Path(argument)
        if path.is_dir():
            for inner in _walk(path):
                found.setdefault(inner.resolve(), File(inner, id_of(inner)))
        elif not path.exists():
            raise CommandError(f"file {argument} does not exist; name files, folders, or - for standard input", USAGE)
        elif path.suffix.lower() not in ALL_SUFFIXES:
            raise CommandError(f"{argument}: {unknown_format(path.suffix.lower())}", USAGE)
        else:
            found.setdefault(path.resolve(), File(path, id_of(path)))
    return list(found.values())


def count_documents(file: File) -> int:
    """Return the approximate number of documents in a file, for a progress bar."""
    if file.path.suffix.lower() not in _RECORDS:
        return 1
    try:
        with file.path.open("rb") as opened:
            return sum(1 for line in opened if line.strip())
    except OSError:
        return 1


def read_file(file: File) -> Iterator[DocumentSource | Unreadable]:
    """Yield the documents in a file: one, or one per record of .jsonl, whose own id is the document's."""
    is_records = file.path.suffix.lower() in _RECORDS
    try:
        for record in read_path(file.path):
            if isinstance(record, RecordProblem):
                yield Unreadable(f"{file.doc_id}:{record.line}", record.reason)
            elif is_records:
                yield _record(record, file.doc_id)
            else:
                yield source_of(record, f"{file.doc_id}#{record.key}" if record.key else file.doc_id, file.doc_id)
    except UnreadableFileError as error:
        yield Unreadable(file.doc_id, str(error))
    except OSError as error:
        yield Unreadable(file.doc_id, f"cannot be read: {error.strerror}")


def read_standard_input(doc_id: str) -> Iterator[DocumentSource | Unreadable]:
    """Yield documents from standard input: JSONL if every line is an object, else one text with the id `doc_id`."""
    try:
        text = decode_text(sys.stdin.buffer.read())
    except UnreadableFileError as error:
        yield Unreadable("-", f"standard input {error}")
        return
    records = list(read_records(text))
    if records and all(isinstance(record, FileDocument) or "JSON" not in record.reason for record in records):
        for record in records:
            if isinstance(record, FileDocument):
                yield _record(record, doc_id)
            else:
                yield Unreadable(f"-:{record.line}", record.reason)
    else:
        yield DocumentSource(doc_id, doc_id, _line({"id": doc_id, "text": text}))


def source_of(document: FileDocument, doc_id: str, source: str) -> DocumentSource:
    """Return a document of a file as one line of NDJSON."""
    body: dict[str, Any] = {"id": doc_id}
    if document.body is not None:
        return DocumentSource(doc_id, doc_id, _line(body | {"source": source} | dict(document.body)))
    body |= {"text": document.text, "media_type": document.media_type, "title": document.title, "source": source}
    dated = document.occurred_at if document.occurred_at and date_span(document.occurred_at) else ""
    body |= {"occurred_at": dated, "metadata": dict(document.metadata)}
    return DocumentSource(doc_id, doc_id, _line({name: value for name, value in body.items() if value}))


def _record(document: FileDocument, name: str) -> DocumentSource:
    made = source_of(document, document.key if document.has_id else f"{name}#{document.key}", name)
    return DocumentSource(f"{name}#{document.key}", made.doc_id, made.line)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield files with a known suffix, without hidden ones and links to folders."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in ALL_SUFFIXES:
                yield Path(parent, name)


def id_of(path: Path) -> str:
    """Return the id of a file's text: its path relative to the working folder, or, outside of it, its absolute path.

    The id does not depend on the argument that selected the file: itself or a folder, relative or absolute.
    """
    absolute, current = Path(os.path.normpath(path.absolute())), Path.cwd()
    return (absolute.relative_to(current) if absolute.is_relative_to(current) else absolute).as_posix()


def _line(body: Mapping[str, Any]) -> bytes:
    """Return one line of NDJSON. Lone surrogates stay escaped, so that the service names the document it refuses."""
    return json.dumps(body).encode() + b"\n"
