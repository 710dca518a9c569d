"""A process that backs up or restores a data folder, and kills itself before its nth step that reaches the disk.

Called as `python -m tests.support.backup_child backup|restore FROM TO N`. Exits with 0 when it took fewer steps.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphtide.infra.sqlite.administration.backup import backup, restore


def main() -> None:
    """Run the command, count fsync, rename and deletion, and kill the process before the nth of them."""
    action, source, target, last = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
    made = 0

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*arguments: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **named)

        return take

    for name in ("fsync", "replace", "unlink"):
        setattr(os, name, counted(getattr(os, name)))
    if action == "backup":
        backup(source, target)
    else:
        restore(source, target, force=True)


if __name__ == "__main__":
    main()
