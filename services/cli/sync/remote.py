"""Object stores as trees of files that `sync` follows (infra/object_store.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from graphtide.infra.files.types import UnreadableFileError
from graphtide.infra.object_store import UnusableStoreError, open_filesystem, shown_url, store_errors
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.sync.tree import FoundFile, TreeEntry, state_folder

_ETAGS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "checksum", "sha")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")


class RemoteTree:
    """A tree of files at a URL. Every listing and look-up asks the store: nothing is cached between calls."""

    def __init__(self, url: str, filesystem: Any, root: str) -> None:
        self._url, self._files = url, filesystem
        self._root = root.rstrip("/")

    @property
    def shown(self) -> str:
        return self._url

    @property
    def origin(self) -> str:
        return self._url

    def state_file(self, key: str) -> Path:
        own = blake2b(self._url.encode(), digest_size=6).hexdigest()
        return state_folder() / f"sync-{own}-{key}.json"

    def entries(self, folder: str) -> Sequence[TreeEntry]:
        path = self._path(folder)
        try:
            with store_errors():
                self._files.invalidate_cache()
                listed = self._files.ls(path, detail=True)
        except FileNotFoundError:
            if folder or not self._is_empty_prefix():
                raise
            return ()
        try:
            if not folder and any(_is_file(each) and _same(each["name"], path) and each.get("size") for each in listed):
                raise OSError("it is a file; name the folder that contains it")
            return [entry for each in listed if (entry := _entry(each, path, folder))]
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise OSError(f"the store's listing is malformed ({type(error).__name__})") from error

    def has(self, name: str) -> bool:
        try:
            with store_errors():
                self._files.invalidate_cache()
                return _is_file(self._files.info(self._path(name)))
        except FileNotFoundError:
            return False

    def read(self, name: str, size: int) -> bytes:
        if size == 0:
            return b""
        with store_errors():
            raw = bytes(self._files.cat_file(self._path(name), start=0, end=size + 1))
        if len(raw) > size:
            raise OSError("it grew while it was read; the next run reads it")
        return raw

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _is_empty_prefix(self) -> bool:
        """Return True if the root is a prefix without objects in a bucket that can be listed.

        Object stores have no empty folders, and report a missing bucket in the same way.
        """
        parent = self._root
        while "/" in parent.strip("/"):
            parent = parent.rpartition("/")[0]
            try:
                with store_errors():
                    self._files.ls(parent, detail=True)
            except FileNotFoundError:
                continue
            return True
        return False


def open_remote(url: str) -> RemoteTree:
    """Return the tree at a URL that fsspec knows. Raises CommandError, which never contains a password."""
    try:
        filesystem, root = open_filesystem(url)
    except UnusableStoreError as error:
        raise CommandError(str(error), USAGE) from error
    except OSError as error:
        raise CommandError(str(error)) from error
    return RemoteTree(shown_url(url), filesystem, root)


def _entry(info: Mapping[str, Any], path: str, folder: str) -> TreeEntry | None:
    """Return an entry of the folder at `path`; None for the marker of the folder itself."""
    name, parent = info["name"].lstrip("/"), path.strip("/")
    last = name.removeprefix(f"{parent}/" if parent else "").rstrip("/") if not _same(name, parent) else ""
    if not last and not info.get("size") and _is_file(info):
        return None
    if not last or "/" in last or last in (".", ".."):
        return TreeEntry(last.replace("/", "") or "(empty name)", False, _refuse_name)
    found = FoundFile(f"{folder}/{last}" if folder else last, _size(info), _mtime_ns(info), _etag(info))
    return TreeEntry(last, not _is_file(info), lambda: found)


def _refuse_name() -> FoundFile:
    raise UnreadableFileError("has an empty part, . or .. in its path; rename it")


def _is_file(info: Mapping[str, Any]) -> bool:
    return info.get("type") != "directory"


def _same(name: str, path: str) -> bool:
    return name.strip("/") == path.strip("/")


def _size(info: Mapping[str, Any]) -> int:
    size = info.get("size")
    if size is None:
        raise OSError(f"the store states no size for {info['name']}")
    if (found := int(size)) < 0:
        raise ValueError("a negative size")
    return found


def _etag(info: Mapping[str, Any]) -> str:
    return next((f"{name}:{info[name]}" for name in _ETAGS if info.get(name)), "")


def _mtime_ns(info: Mapping[str, Any]) -> int:
    for name in _TIMES:
        value = info.get(name)
        try:
            if isinstance(value, str):
                value = datetime.fromisoformat(value)
            if isinstance(value, datetime):
                value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
            if value:
                return int(float(value) * 1_000_000_000)
        except (ValueError, TypeError, OverflowError):
            continue
    return 0
