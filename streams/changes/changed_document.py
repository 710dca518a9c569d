"""The names that change events have: of a commit, its token; of a document in it, its final state."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"v([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class ChangedDocument:
    """The final state of a revision that the commit includes."""

    id: str
    revision: int
    state: str


def change_token(version: int) -> str:
    """Return the token of a change: a reader resumes after it."""
    return f"v{version}"


def token_version(token: str) -> int | None:
    """Return the version that a change's token names; None for another text, such as a token of publishing."""
    found = _TOKEN.fullmatch(token)
    return int(found[1]) if found else None
