"""Exit codes of the commands, which scripts can rely on, and their error: one sentence on standard error.

The invariant: errors of the user, the service or the network never print a traceback.
"""

from __future__ import annotations

FAILED = 1
USAGE = 2
NOT_FOUND = 3
UNREACHABLE = 4
DIFFERS = 5

EXPLAINED = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 the service is unreachable, "
    "5 verification found differences."
)


class CommandError(Exception):
    """The command failed. The message gives the reason and the remedy in one sentence."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code
