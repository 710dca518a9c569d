"""The journal of an evaluation: every paid result, appended to a file of JSON lines before it is used.

Invariants: a result that `record` has returned for survives kill -9 and is never paid for again; a line that a crash
cut is removed at the next opening; one process holds a journal at a time. The file is private: it holds questions,
answers and verdicts, and, for measures that need them, the passages shown.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from graphtide.infra.models.replies.json_replies import parsed
from graphtide.infra.private_files import make_private_file
from graphtide.streams.errors import Broken
from graphtide.streams.usage import ModelUsage

Value = Mapping[str, Any]


def journal_key(*parts: object) -> str:
    """Return the key of a result: a digest of everything that determines it."""
    return sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


class EvaluationJournal:
    """See the module. `spent` is the usage of all recorded calls by purpose, failed ones included."""

    def __init__(self, path: Path) -> None:
        make_private_file(path)
        self._file = path.open("r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise Broken(f"{path} is in use by another evaluation; wait for it, or choose another folder") from None
        self._values: dict[str, Value] = {}
        self.spent: dict[str, ModelUsage] = {}
        self._load(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()

    def find(self, key: str) -> Value | None:
        """Return the value recorded under the key, or None."""
        return self._values.get(key)

    def record(self, key: str, purpose: str, value: Value, usage: ModelUsage) -> None:
        """Append a result with the usage of the call that it comes from; durable when this returns."""
        self._append({"key": key, "purpose": purpose, "usage": astuple(usage), "value": value})

    def charge(self, purpose: str, usage: ModelUsage) -> None:
        """Append the usage of a call without a usable result."""
        if usage != ModelUsage():
            self._append({"purpose": purpose, "usage": astuple(usage)})

    def _append(self, line: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(line, ensure_ascii=True).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._take(line)

    def _take(self, line: Mapping[str, Any]) -> None:
        usage = ModelUsage(*line["usage"])
        self.spent[line["purpose"]] = self.spent.get(line["purpose"], ModelUsage()) + usage
        if "key" in line:
            self._values[line["key"]] = line["value"]

    def _load(self, path: Path) -> None:
        end = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                self._take(parsed(line))
            except (ValueError, KeyError, TypeError):
                self._file.close()
                raise Broken(f"{path}: line {number} is not of a journal; choose another folder for --output") from None
            end += len(line)
        self._file.seek(end)
        self._file.truncate()
