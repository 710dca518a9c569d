"""Behaviour of the embedded service on a full disk, on a small file system that is really full.

`python -m tests.recovery.full_disk NAME FOLDER` in a mount namespace of its own (`unshare --mount`): a tmpfs is mounted
on FOLDER/disk, and disappears with the process. `test_full_disk.py` runs each course.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.recovery.walk import expected_digest, random_body
from tests.support.crashing import Crashing, crashing
from tests.support.processes import start_service

SIZE_BYTES = 24 << 20
LEFT_BYTES = 1 << 20
"""Free space at the start of courses that accept documents before the disk is full."""
BATCH = 40
"""Documents accepted at once, faster than they are applied."""
SEED = 11
FULL_MESSAGE = "the disk (or the database's quota) is full"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk, and a file on it that takes up the free space."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    def fill(self, leave_bytes: int = 0) -> None:
        """Take up the free space except that many bytes, while other processes write at the same time."""
        with self._ballast.open("ab", buffering=0) as file:
            try:
                while (free := self._free_bytes()) > leave_bytes:
                    file.write(bytes(min(free - leave_bytes, 1 << 20)))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def relieve(self) -> None:
        """Delete the file and free its space."""
        self._ballast.unlink()

    def _free_bytes(self) -> int:
        found = os.statvfs(self.folder)
        return found.f_bavail * found.f_frsize


def accepting(one: Crashing, disk: Disk, log: Path) -> None:
    """Fill the disk while documents are published and deleted: each is refused whole, with the reason; reads continue;
    with space all are accepted.

    Stopped while the disk is full: the indexes cannot be saved, which is reported and costs only a longer start.
    """
    rng = random.Random(SEED)
    _start(one, disk, log)
    for number in range(6):
        one.put(f"d{number}", random_body(rng))
    one.settle()
    disk.fill()
    before = _stats(one)
    for refused in (
        one.request("PUT", "/documents/d1", random_body(rng)),
        one.request("POST", "/documents", [{"id": f"n{number}", "text": "x" * 9_000} for number in range(40)]),
        one.request("DELETE", "/documents/d0"),
    ):
        assert refused.status_code == 503 and FULL_MESSAGE in refused.text, refused.text
        assert "retry-after" in refused.headers, refused.headers
    assert _stats(one) == before, "something of what was refused is there"
    asked = {"question": "Who met whom?", "generate": False, "mode": "local"}
    answered = one.request("POST", "/query", asked)
    assert answered.status_code == 200 and answered.json()["passages"], answered.text
    assert "publishing stops" in _readiness(one)["disk"]
    assert one.stop() == 0
    _start(one, disk, log)
    assert "was not saved" in log.read_text()
    disk.relieve()
    one.put("d1", random_body(rng))
    one.delete("d0")
    _check(one)


def consolidating(one: Crashing, disk: Disk, log: Path) -> None:
    """Fill the disk by accepted documents, so that their extractions and rows do not fit.

    The service waits and reports it; killed there, it restarts, at the latest when there is space, with everything that
    got 202.
    """
    rng = random.Random(SEED)
    _start(one, disk, log)
    one.put("first", random_body(rng))
    one.settle()
    disk.fill(LEFT_BYTES)
    number, refused = 0, 0
    while not (refused and _stats(one)["lag"]):
        if refused:  # all that was accepted had been applied when the disk was full: once more
            disk.relieve()
            disk.fill(LEFT_BYTES)
            refused = 0
        bodies = {f"d{number + place}": random_body(rng) for place in range(BATCH)}
        answer = one.request("POST", "/documents", [{"id": doc_id, **body} for doc_id, body in bodies.items()])
        if answer.status_code == 202:
            one.live.update(bodies)
            one.accepted += BATCH
        else:
            assert answer.status_code == 503 and FULL_MESSAGE in answer.text, answer.text
            refused += 1
        number += BATCH
    reported: dict[str, str] = {}
    while not any(FULL_MESSAGE in each for each in reported.values()):
        reported = _readiness(one)
    one.kill()
    try:
        _start(one, disk, log)
    except RuntimeError as error:
        assert "ended with 1 " in str(error), error
        assert FULL_MESSAGE in log.read_text().splitlines()[-1]
    disk.relieve()
    _check(one)


def starting(one: Crashing, disk: Disk, log: Path) -> None:
    """Fill the disk before the first start: the process ends with one sentence; with space it starts there."""
    disk.fill()
    try:
        _start(one, disk, log)
    except RuntimeError as error:
        assert "ended with 1 " in str(error), error
        assert FULL_MESSAGE in log.read_text().splitlines()[-1], log.read_text()
    else:
        raise AssertionError("it started, with no room for a database")
    disk.relieve()
    _start(one, disk, log)
    one.put("d0", random_body(random.Random(SEED)))
    _check(one)


COURSES: dict[str, Callable[[Crashing, Disk, Path], None]] = {
    "accepting": accepting,
    "consolidating": consolidating,
    "starting": starting,
}


def _start(one: Crashing, disk: Disk, log: Path) -> None:
    one.service = start_service(disk.data, one.settings, log)


def _stats(one: Crashing) -> dict[str, object]:
    """Return the stats without the figures that depend on the moment."""
    found = one.request("GET", "/stats").json()
    return {name: found[name] for name in ("version", "lag", "counts", "revisions")}


def _readiness(one: Crashing) -> dict[str, str]:
    assert one.service is not None
    parts: dict[str, str] = httpx.get(f"{one.service.url}/readyz", timeout=60).json()["components"]
    return parts


def _check(one: Crashing) -> None:
    one.settle()
    one.check(expected_digest(one.live))
    states = {one.request("GET", f"/documents/{doc_id}").json()["state"] for doc_id in one.live}
    assert states == {"applied"}, states
    assert one.stop() == 0


def main() -> None:
    """Mount the disk, and run the course on it."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    disk = Disk(folder / "disk")
    disk.folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(disk.folder)], check=True)
    print(f"seed {SEED}", flush=True)
    with crashing(disk.data) as one:
        COURSES[name](one, disk, folder / "service.log")


if __name__ == "__main__":
    main()
