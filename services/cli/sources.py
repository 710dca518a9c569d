"""The sources of `publish`: files, folders and standard input, read as documents in the format of the contract.

The service validates the documents. The invariant: every named source that cannot be read is reported, never skipped
silently.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphtide.services.cli.exit_codes import USAGE, CommandError

SUFFIXES = (".txt", ".md", ".jsonl")

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]++(\S.*+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A document as one line of NDJSON; `name` identifies it in errors."""

    name: str
    doc_id: str
    line: bytes


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A source that could not be read as a document, and the reason."""

    name: str
    reason: str


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
        raise CommandError(f"no {', '.join(SUFFIXES)} file found in the arguments; name other files or folders", USAGE)
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
        elif path.suffix.lower() not in SUFFIXES:
            raise CommandError(f"{argument} is not a {', '.join(SUFFIXES)} file; convert it to one of them", USAGE)
        else:
            found.setdefault(path.resolve(), File(path, id_of(path)))
    return list(found.values())


def count_documents(file: File) -> int:
    """Return the approximate number of documents in a file, for a progress bar."""
    if file.path.suffix.lower() != ".jsonl":
        return 1
    try:
        with file.path.open("rb") as opened:
            return sum(1 for line in opened if line.strip())
    except OSError:
        return 1


def read_file(file: File) -> Iterator[DocumentSource | Unreadable]:
    """Yield the documents in a file: one, or one per line of .jsonl."""
    try:
        text = file.path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Unreadable(file.doc_id, f"is not UTF-8 (byte {error.start}); convert it to UTF-8")
        return
    except OSError as error:
        yield Unreadable(file.doc_id, f"cannot be read: {error.strerror}")
        return
    if file.path.suffix.lower() == ".jsonl":
        yield from _read_lines(text, file.doc_id)
    else:
        yield _document(text, file.doc_id, markdown=file.path.suffix.lower() == ".md")


def read_standard_input(doc_id: str) -> Iterator[DocumentSource | Unreadable]:
    """Yield documents from standard input: JSONL if every line is an object, else one text with the id `doc_id`."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield Unreadable("-", f"standard input is not UTF-8 (byte {error.start}); convert it to UTF-8")
        return
    lines = [line for line in text.split("\n") if line.strip()]
    if lines and all(isinstance(_object_in(line), dict) for line in lines):
        yield from _read_lines(text, doc_id)
    else:
        yield _document(text, doc_id, markdown=False, source="")


def _walk(folder: Path) -> Iterator[Path]:
    """Yield files with a known suffix, without hidden ones and links to folders."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES:
                yield Path(parent, name)


def id_of(path: Path) -> str:
    """Return the id of a file's text: its path relative to the working folder, or, outside of it, its absolute path.

    The id does not depend on the argument that selected the file: itself or a folder, relative or absolute.
    """
    absolute, current = Path(os.path.normpath(path.absolute())), Path.cwd()
    return (absolute.relative_to(current) if absolute.is_relative_to(current) else absolute).as_posix()


def _document(text: str, doc_id: str, markdown: bool, source: str | None = None) -> DocumentSource:
    body = {"id": doc_id, "text": text}
    if source is None:
        body["source"] = doc_id
    heading = _HEADING.search(text) if markdown else None
    if heading:
        title: str = heading[1]
        body["title"] = title.rstrip(" \t").rstrip("#").rstrip(" \t") or title
    return DocumentSource(doc_id, doc_id, _line(body))


def _read_lines(text: str, name: str) -> Iterator[DocumentSource | Unreadable]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        body = _object_in(line)
        if not isinstance(body, dict):
            yield Unreadable(f"{name}:{number}", "is not a JSON object")
            continue
        doc_id = body.setdefault("id", f"{name}#{number}")
        yield DocumentSource(f"{name}:{number}", str(doc_id), _line(body))


def _object_in(line: str) -> object:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value


def _line(body: dict[str, object] | dict[str, str]) -> bytes:
    """Return one line of NDJSON. Lone surrogates stay escaped, so that the service names the document it refuses."""
    return json.dumps(body).encode() + b"\n"
