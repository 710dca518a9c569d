"""Ports reserved for the servers and processes that tests start.

A port that the system chose and that was released again may be given to any outgoing connection before the server binds
it. So these are below the system's own range, and a lock on a file holds each for the life of the test process. No
other test process chooses it, and a server that is stopped finds it free when it starts again.
"""

from __future__ import annotations

import atexit
import fcntl
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

FIRST, AFTER_LAST = 12_000, 30_000
_reserved: list[IO[bytes]] = []


@atexit.register
def _release() -> None:
    """Release the ports when the process ends."""
    while _reserved:
        _reserved.pop().close()


def free_port() -> int:
    """Return a port of this process alone at which nothing listens."""
    folder = Path(tempfile.gettempdir()) / "graphtide-test-ports"
    folder.mkdir(exist_ok=True)
    choice = random.SystemRandom()  # independent of the seeds of tests
    while True:
        port = choice.randrange(FIRST, AFTER_LAST)
        if _hold(folder / str(port)) and _is_free(port):
            return port


def free_ports(count: int) -> list[int]:
    """Return `count` such ports."""
    return [free_port() for _ in range(count)]


def _hold(path: Path) -> bool:
    file = path.open("wb")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return False
    _reserved.append(file)
    return True


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
