"""The files of a tree that `sync` publishes, without hidden ones and those that .gitignore excludes.

The invariant: every file that is neither hidden nor ignored is either found, or skipped by name with a reason; a part
of the tree that could not be listed is named in `unread`, and no document of it is deleted.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from unicodedata import category

import re2
from pathspec import GitIgnoreSpec

from graphtide.infra.files.reader import ALL_SUFFIXES, MAX_FILE_BYTES, unknown_format
from graphtide.infra.files.types import UnreadableFileError
from graphtide.services.cli.sources import Unreadable
from graphtide.services.cli.sync.tree import FileTree, FoundFile, LocalTree, SourceUnavailableError, TreeEntry

IGNORE_FILE = ".gitignore"
_MAX_RULES_BYTES, _MAX_RULE_CHARS = 1 << 20, 1_024


@dataclass(frozen=True, slots=True)
class _Rules:
    folder: str
    spec: GitIgnoreSpec


@dataclass(slots=True)
class FolderScan:
    """The files of a tree in order of their names, those that are skipped, and what could not be looked at."""

    files: dict[str, FoundFile] = field(default_factory=dict)
    skipped: list[Unreadable] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    _rules: dict[str, tuple[_Rules, ...]] = field(default_factory=dict)

    @property
    def listed(self) -> frozenset[str]:
        """Return the names of the files that were found, and of the folders that were listed."""
        return frozenset(self.files) | frozenset(self._rules)

    def is_unread(self, name: str) -> bool:
        """Return True for a file that could not be looked at, or lies in a folder that could not be listed."""
        return bool(self.unread) and any(each in self.unread for each in (name, *_folders(name)))

    def leaves_out(self, name: str) -> bool:
        """Return True for a name that the rules of this scan exclude, whether or not it exists."""
        parents = list(_folders(name))
        for inside, path in zip([*parents[1:], ""], [name, *(f"{each}/" for each in parents)], strict=False):
            if not _is_open(path, PurePosixPath(path).name, self.rules_of(inside)):
                return True
        return False

    def rules_of(self, folder: str) -> tuple[_Rules, ...]:
        """Return the rules of a folder, or of the nearest one above it that was scanned."""
        return next((self._rules[each] for each in (folder, *_folders(folder), "") if each in self._rules), ())


def scan_folder(folder: Path) -> FolderScan:
    """Return the files of a folder of this machine. Raises SourceUnavailableError."""
    return scan_tree(LocalTree(folder))


def scan_tree(tree: FileTree) -> FolderScan:
    """Return the files of the tree. Holds one folder's listing at a time. Raises SourceUnavailableError."""
    found = FolderScan()
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(tree.entries(folder), key=lambda each: each.name)
            rules = (*found.rules_of(folder), *_own_rules(tree, folder, entries))
        except OSError as error:
            if not folder:
                raise SourceUnavailableError(
                    f"{tree.shown} cannot be listed: {_reason(error)}; nothing was deleted"
                ) from error
            found.unread.add(folder)
            found.skipped.append(Unreadable(folder, f"cannot be listed: {_reason(error)}; its documents are kept"))
            continue
        found._rules[folder] = rules
        inner = [name for name, each in _open_entries(entries, folder, rules) if _sort(found, each, name)]
        folders.extend(reversed(inner))
    return found


def _open_entries(
    entries: Sequence[TreeEntry], folder: str, rules: Sequence[_Rules]
) -> Iterator[tuple[str, TreeEntry]]:
    for each in entries:
        name = f"{_prefix(folder)}{each.name}"
        if _is_open(f"{name}/" if each.is_folder else name, each.name, rules):
            yield name, each


def _sort(found: FolderScan, entry: TreeEntry, name: str) -> bool:
    """Take a file, or return True for a folder to scan."""
    if entry.linked_folder:
        found.skipped.append(Unreadable(name, "is a link to a folder, which is not followed; name the folder itself"))
        return False
    if not entry.name.isprintable() and any(category(char) in ("Cc", "Cs") for char in entry.name):
        found.skipped.append(Unreadable(name.encode("unicode_escape").decode(), "has a control character; rename it"))
        return False
    if not entry.is_folder:
        _take(found, entry, name)
    return entry.is_folder


def _take(found: FolderScan, entry: TreeEntry, name: str) -> None:
    suffix = PurePosixPath(entry.name).suffix.lower()
    if suffix not in ALL_SUFFIXES:
        found.skipped.append(Unreadable(name, unknown_format(suffix)))
        return
    try:
        file = entry.file()
    except UnreadableFileError as error:
        found.skipped.append(Unreadable(name, str(error)))
    except FileNotFoundError as error:
        found.skipped.append(Unreadable(name, f"cannot be read: {_reason(error)}"))
    except OSError as error:
        found.unread.add(name)
        found.skipped.append(Unreadable(name, f"cannot be read: {_reason(error)}"))
    else:
        if file.size > MAX_FILE_BYTES:
            found.skipped.append(Unreadable(name, f"is larger than {MAX_FILE_BYTES >> 20} MiB; split it"))
        else:
            found.files[name] = file


def _is_open(name: str, last: str, rules: Sequence[_Rules]) -> bool:
    """Return False for what is hidden or ignored. The rules of the innermost folder that has one decide."""
    if last.startswith("."):
        return False
    name = name.encode(errors="replace").decode()  # rules are Unicode, names of files need not be
    for each in reversed(rules):
        verdict = each.spec.check_file(name.removeprefix(each.folder)).include
        if verdict is not None:
            return not verdict
    return True


def _own_rules(tree: FileTree, folder: str, entries: Sequence[TreeEntry]) -> tuple[_Rules, ...]:
    """Return the rules of the folder's own .gitignore. Raises OSError: without its rules nothing of it is taken."""
    own = next((each for each in entries if each.name == IGNORE_FILE and not each.is_folder), None)
    if own is None:
        return ()
    try:
        size = own.file().size
    except UnreadableFileError:
        return ()
    if size > _MAX_RULES_BYTES:
        raise OSError(f"{IGNORE_FILE} is larger than {_MAX_RULES_BYTES >> 20} MiB")
    lines = tree.read(f"{_prefix(folder)}{IGNORE_FILE}", size).decode("utf-8-sig", "replace").splitlines()
    if any(len(line) > _MAX_RULE_CHARS for line in lines):
        raise OSError(f"{IGNORE_FILE} has a rule of more than {_MAX_RULE_CHARS:,} characters")
    try:
        return (_Rules(_prefix(folder), _spec([line for line in lines if _is_rule(line)])),)
    except re2.error as error:
        raise OSError(f"{IGNORE_FILE} has too many rules; shorten it") from error


def _is_rule(line: str) -> bool:
    """Return False for a line that is no pattern, such as a lone `!`: git ignores it, too."""
    try:
        _spec([line])
    except (ValueError, re.error):
        return False
    except re2.error as error:
        return "failed to add" not in str(error)  # otherwise it is a pattern, but too large
    return True


def _spec(lines: Sequence[str]) -> GitIgnoreSpec:
    """Return the rules in these lines. RE2 matches in linear time: the folder may be a stranger's repository."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of `re`, for `[[`
        return GitIgnoreSpec.from_lines(lines, backend="re2")


def _prefix(folder: str) -> str:
    return f"{folder}/" if folder else ""


def _folders(name: str) -> Iterator[str]:
    """Yield the folders that contain a name, the innermost first, without the root."""
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__
