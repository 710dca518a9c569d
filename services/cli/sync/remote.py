"""Object stores and other trees that fsspec reads: S3, Google Cloud Storage, GitHub, memory and more.

Credentials come from the environment and files of the store's own client. The invariant: neither a URL with a password
nor an error of a client that contains it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from graphtide.infra.files.types import UnreadableFileError
from graphtide.services.cli.exit_codes import USAGE, CommandError
from graphtide.services.cli.sync.tree import FoundFile, TreeEntry, state_folder

INSTALL = "pip install 'graphtide[remote]'"
_ETAGS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "checksum", "sha")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")
_NO_CREDENTIALS = ("github", "gist")
"""Protocols whose URLs have the form user:name@ref without a password."""
_SECRETS = re.compile(
    r"(?i)((?:secret|token|password|signature|credential|key)[\w-]{0,40}+\s{0,8}+[=:]\s{0,8}+)[^\s&,;'\"]+"
)
_MAX_REASON = 300


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
            with _translated():
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
            with _translated():
                self._files.invalidate_cache()
                return _is_file(self._files.info(self._path(name)))
        except FileNotFoundError:
            return False

    def read(self, name: str, size: int) -> bytes:
        if size == 0:
            return b""
        with _translated():
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
                with _translated():
                    self._files.ls(parent, detail=True)
            except FileNotFoundError:
                continue
            return True
        return False


def open_remote(url: str) -> RemoteTree:
    """Return the tree at a URL that fsspec knows. Raises CommandError, which never contains a password."""
    scheme, place = url.split("://", 1)
    if scheme not in _NO_CREDENTIALS and ":" in place.partition("/")[0].rpartition("@")[0]:
        raise CommandError(
            f"the {scheme}:// URL contains a password, which other users of this machine can read;"
            " pass credentials by the environment or the configuration of the store's client",
            USAGE,
        )
    try:
        import fsspec
    except ImportError as error:
        raise CommandError(f"{scheme}:// needs fsspec: {INSTALL}", USAGE) from error
    if scheme.partition("::")[0] not in fsspec.available_protocols():
        raise CommandError(f"{scheme}:// is not a protocol of fsspec; use one such as s3, gs or github", USAGE)
    try:
        with _translated():
            filesystem, root = fsspec.core.url_to_fs(url, skip_instance_cache=True)
    except ImportError as error:
        message = f"{scheme}:// needs a package that is missing ({error}): {INSTALL}, or install that package"
        raise CommandError(message, USAGE) from error
    except OSError as error:
        raise CommandError(f"{_shown(url)} cannot be opened: {error}") from error
    return RemoteTree(_shown(url), filesystem, root)


def _shown(url: str) -> str:
    """Return the URL without a query, which may be signed, and without a trailing slash."""
    return url.partition("?")[0].rstrip("/") if urlsplit(url).query else url.rstrip("/")


@contextmanager
def _translated() -> Iterator[None]:
    """Raise every error of a store's client as OSError, without secrets.

    FileNotFoundError stays what it is: a store states it, while any other error means that the answer is unknown.
    """
    try:
        yield
    except ImportError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(_clean(error)) from error
    except Exception as error:  # each store raises the errors of its own client, of no common class
        raise OSError(_clean(error)) from error


def _clean(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return _SECRETS.sub(r"\1***", re.sub(r"//[^/@\s]+@", "//***@", text))[:_MAX_REASON]


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
