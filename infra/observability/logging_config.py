"""Logging configuration: one stream and one format, for Graphtide's messages and those of libraries.

Invariants: no secret and no credential is written, from any logger; no library logs below WARNING, since at DEBUG
several print whole requests and query parameters; and above DEBUG an error's message is left out if its class quotes
the wrong value, which may be a document's text.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TextIO

from pydantic import SecretStr

from graphtide.infra.observability.log_dedup import Repetitions
from graphtide.infra.settings import Settings
from graphtide.streams.tracing import trace_id

OURS = "graphtide"
HIDDEN = "***"
FIELDS = ("graph", "doc_id", "revision", "method", "path", "route", "status", "ms", "client", "key")
"""The fields that a record may pass in `extra`, in the order of output."""

_SHORTEST_SECRET = 6
_CREDENTIALS = re.compile(
    r"(?i)\bbearer\s+[\w.~+/=-]+|\bgt_[a-z2-7]{16}_[\w-]+|\beyJ[\w-]{4,}+(?:\.[\w-]++){0,2}+\.?|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_QUOTING = (ValueError, LookupError)


def configure(settings: Settings, stream: TextIO | None = None) -> None:
    """Send all logging of this process to `stream`, standard error by default, instead of the previous handlers."""
    secrets = secrets_of(settings)
    verbose = settings.log_level == "DEBUG"
    shaped = JsonLogFormatter(secrets, verbose) if settings.log_format == "json" else TextLines(secrets, verbose)
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(shaped)
    handler.addFilter(Repetitions(OURS))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger(OURS).setLevel(settings.log_level)
    logging.captureWarnings(True)


def secrets_of(settings: Settings) -> tuple[str, ...]:
    """Return the settings' secrets that are long enough to differ from ordinary words, the longest first."""
    values = (getattr(settings, name) for name in type(settings).model_fields)
    secrets = {each.get_secret_value() for each in values if isinstance(each, SecretStr)}
    return tuple(sorted((each for each in secrets if len(each) >= _SHORTEST_SECRET), key=len, reverse=True))


class _Lines(logging.Formatter):
    """Base of both formats: the message and the error, without secrets."""

    def __init__(self, secrets: Iterable[str], verbose: bool) -> None:
        super().__init__()
        self._secrets = tuple(secrets)
        self._verbose = verbose

    def clean(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return _CREDENTIALS.sub(HIDDEN, text)

    def trouble(self, record: logging.LogRecord) -> str:
        """Return the error with the lines of code that led to it; "" without one."""
        error = record.exc_info[1] if record.exc_info else None
        return "" if error is None else self.clean("".join(_traceback_lines(error, self._verbose)))


class TextLines(_Lines):
    """Format for human readers: time, level if it matters, logger, message, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        about = " ".join(f"{name}={value}" for name, value in _about(record).items())
        level = "" if record.levelno == logging.INFO else f"{record.levelname} "
        line = f"{_time(record)} {level}{record.name}: {self.clean(record.getMessage())}"
        line = _one_line(f"{line} {self.clean(about)}" if about else line)
        trouble = self.trouble(record)
        return f"{line}\n{trouble}" if trouble else line


class JsonLogFormatter(_Lines):
    """Format for programs: one object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {"time": _time(record), "level": record.levelname, "logger": record.name}
        line["message"] = self.clean(record.getMessage())
        about = _about(record)
        line |= {name: self.clean(value) if isinstance(value, str) else value for name, value in about.items()}
        trouble = self.trouble(record)
        return json.dumps(line | ({"error": trouble} if trouble else {}), ensure_ascii=False, default=str)


def _traceback_lines(error: BaseException, verbose: bool) -> Iterable[str]:
    """Yield the traceback; without the messages of errors that quote values, unless `verbose`."""
    if verbose or not any(isinstance(each, _QUOTING) for each in _chain(error)):
        return traceback.format_exception(error)
    lines: list[str] = []
    for each in reversed(list(_chain(error))):
        lines += traceback.format_tb(each.__traceback__)
        message = "(its message may quote a document: log_level DEBUG shows it)" if isinstance(each, _QUOTING) else each
        lines.append(f"{type(each).__name__}: {message}\n")
    return lines


def _chain(error: BaseException) -> Iterable[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _about(record: logging.LogRecord) -> dict[str, object]:
    found = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
    trace = trace_id()
    return found | ({"trace_id": trace} if trace else {})


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _one_line(text: str) -> str:
    """Return the text without line breaks and control characters: a caller's name cannot forge a line."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)
