"""The files of a folder that `sync` publishes, without hidden ones and those that .gitignore excludes.

The invariant: every file that is neither hidden nor ignored is either found, or skipped by name with a reason.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pathspec import GitIgnoreSpec

from graphtide.infra.files.reader import ALL_SUFFIXES, MAX_FILE_BYTES
from graphtide.services.cli.sources import Unreadable

IGNORE_FILE = ".gitignore"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file by its path relative to the folder, with what shows a change without reading it."""

    name: str
    path: Path
    size: int
    mtime_ns: int


@dataclass(slots=True)
class FolderScan:
    """The files of a folder in order of their names, and those that are skipped."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: list[Unreadable] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Rules:
    folder: str
    spec: GitIgnoreSpec


def scan_folder(folder: Path) -> FolderScan:
    """Return the files of the folder. Links to files within it are followed, links to folders are not."""
    found = FolderScan()
    rules: dict[str, tuple[_Rules, ...]] = {}
    root = folder.resolve()
    for parent, folders, names in os.walk(folder, onerror=lambda error: _take_error(found, folder, error)):
        inside = _relative(folder, Path(parent))
        held = (*rules.get(_parent(inside), ()), *_own_rules(Path(parent), inside))
        rules[inside] = held
        folders[:] = sorted(each for each in folders if _is_open(f"{_prefix(inside)}{each}/", each, held))
        for each in sorted(names):
            name = f"{_prefix(inside)}{each}"
            if _is_open(name, each, held):
                _take(found, Path(parent, each), name, root)
    return found


def _take(found: FolderScan, path: Path, name: str, root: Path) -> None:
    if path.suffix.lower() not in ALL_SUFFIXES:
        reason = f"no reader for {path.suffix.lower()}" if path.suffix else "no reader for a name without a suffix"
        found.skipped.append(Unreadable(name, f"{reason}; convert it to text, Markdown, HTML, PDF or DOCX"))
        return
    try:
        status = path.stat()
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            found.skipped.append(Unreadable(name, "is a link to a file outside of the folder; copy the file"))
        elif not path.is_file():
            found.skipped.append(Unreadable(name, "is not a regular file"))
        elif status.st_size > MAX_FILE_BYTES:
            found.skipped.append(Unreadable(name, f"is larger than {MAX_FILE_BYTES >> 20} MiB; split it"))
        else:
            found.files[name] = FoundFile(name, path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        found.skipped.append(Unreadable(name, f"cannot be read: {error.strerror}"))


def _is_open(name: str, last: str, rules: Sequence[_Rules]) -> bool:
    """Return False for what is hidden or ignored. The rules of the innermost folder that has one decide."""
    if last.startswith("."):
        return False
    for each in reversed(rules):
        verdict = each.spec.check_file(name.removeprefix(each.folder)).include
        if verdict is not None:
            return not verdict
    return True


def _own_rules(parent: Path, inside: str) -> tuple[_Rules, ...]:
    try:
        lines = (parent / IGNORE_FILE).read_text(errors="replace").splitlines()
    except OSError:
        return ()
    return (_Rules(_prefix(inside), GitIgnoreSpec.from_lines(lines)),)


def _relative(folder: Path, parent: Path) -> str:
    inside = parent.relative_to(folder).as_posix()
    return "" if inside == "." else inside


def _prefix(inside: str) -> str:
    return f"{inside}/" if inside else ""


def _parent(inside: str) -> str:
    parent = str(PurePosixPath(inside).parent)
    return "" if parent == "." else parent


def _take_error(found: FolderScan, folder: Path, error: OSError) -> None:
    name = os.path.relpath(str(error.filename), folder)
    found.skipped.append(Unreadable(name, f"cannot be read: {error.strerror}"))
