"""How a command ends: an exit code that scripts can rely on, and one sentence on standard error.

The invariant: no user sees a traceback for what the user, the service or the network did.
"""

from __future__ import annotations

FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNREACHABLE = 4
DIFFERS = 5

EXPLAINED = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 the service cannot be reached, "
    "5 verification found differences."
)


class CommandError(Exception):
    """The command cannot go on. The message says why and what to do, in one sentence."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
