"""Object stores and other filesystems of fsspec: S3, Google Cloud Storage, GitHub, memory and more.

Credentials come from the environment and files of the store's own client. The invariant: neither a URL with a password
nor an error of a client that contains it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

INSTALL = "pip install 'graphtide[remote]'"
_NO_CREDENTIALS = ("github", "gist")
"""Protocols whose URLs have the form user:name@ref without a password."""
_SECRETS = re.compile(
    r"(?i)((?:secret|token|password|signature|credential|key)[\w-]{0,40}+\s{0,8}+[=:]\s{0,8}+)[^\s&,;'\"]+"
)
_MAX_REASON = 300


class UnusableStoreError(Exception):
    """The URL names no store that can be opened here. The message gives the reason and the remedy."""


def open_filesystem(url: str, **options: Any) -> tuple[Any, str]:
    """Return the filesystem of a URL that fsspec knows, and the path in it, without an end slash.

    `options` are those of the filesystem's class.

    Raises UnusableStoreError, which never contains a password, and OSError when the store's client fails.
    """
    scheme, place = url.split("://", 1)
    if scheme not in _NO_CREDENTIALS and ":" in place.partition("/")[0].rpartition("@")[0]:
        raise UnusableStoreError(
            f"the {scheme}:// URL contains a password, which other users of this machine can read;"
            " pass credentials by the environment or the configuration of the store's client"
        )
    try:
        import fsspec
    except ImportError as error:
        raise UnusableStoreError(f"{scheme}:// needs fsspec: {INSTALL}") from error
    if scheme.partition("::")[0] not in fsspec.available_protocols():
        raise UnusableStoreError(f"{scheme}:// is not a protocol of fsspec; use one such as s3, gs or github")
    try:
        with store_errors():
            filesystem, root = fsspec.core.url_to_fs(url, skip_instance_cache=True, **options)
    except ImportError as error:
        message = f"{scheme}:// needs a package that is missing ({error}): {INSTALL}, or install that package"
        raise UnusableStoreError(message) from error
    except OSError as error:
        raise OSError(f"{shown_url(url)} cannot be opened: {error}") from error
    return filesystem, root.rstrip("/")


def shown_url(url: str) -> str:
    """Return the URL without a query, which may be signed, and without a trailing slash."""
    return url.partition("?")[0].rstrip("/") if urlsplit(url).query else url.rstrip("/")


@contextmanager
def store_errors() -> Iterator[None]:
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
