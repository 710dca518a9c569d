"""The watch of file descriptors: when it warns, and that a service warns of connections that it cannot accept."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from graphtide.services.process.descriptor_watch import REPEAT_S, RESERVE, DescriptorWatch, free_descriptors
from tests.support.cluster import until
from tests.support.processes import service

WARNING = "file descriptors of the process are free"


@pytest.fixture
def few_left() -> Iterator[int]:
    """Take all descriptors between those in use, lower the limit, and yield the number that is free."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    filled = [os.open(os.devnull, os.O_RDONLY)]
    while filled[-1] <= highest:
        filled.append(os.open(os.devnull, os.O_RDONLY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (filled[-1] + 1 + RESERVE + 8, hard))
    try:
        yield RESERVE + 8
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in filled:
            os.close(descriptor)


def test_free_descriptors_are_counted_down_to_none(few_left: int) -> None:
    """Each open file takes one; an exhausted table has none, and the count itself takes none."""
    opened: list[int] = []
    try:
        for taken in range(few_left):
            assert free_descriptors() == few_left - taken
            opened.append(os.open(os.devnull, os.O_RDONLY))
        assert free_descriptors() == 0
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert free_descriptors() == few_left


def test_exhaustion_is_logged_once_in_a_while_with_the_remedy(caplog: pytest.LogCaptureFixture) -> None:
    """Not while enough are free, at once when few are, and again only after the interval, also if some became free."""
    free, now = [RESERVE], [0.0]
    watch = DescriptorWatch(lambda: free[0], lambda: now[0])

    def warnings() -> int:
        watch.look()
        return sum(WARNING in record.getMessage() for record in caplog.records)

    assert warnings() == 0
    free[0] = RESERVE - 1
    assert [warnings(), warnings()] == [1, 1]
    free[0] = RESERVE
    assert warnings() == 1
    free[0], now[0] = 0, REPEAT_S - 1
    assert warnings() == 1
    now[0] = REPEAT_S
    assert [warnings(), warnings()] == [2, 2]
    assert "raise the limit (ulimit -n" in caplog.records[0].getMessage()


def test_service_logs_once_that_connections_exceed_its_descriptors(tmp_path: Path) -> None:
    """More connections than it may have: one warning, and it answers again when they are closed."""
    log = tmp_path / "log"
    with service(tmp_path / "data", log=log) as running, ExitStack() as connections:
        used = max(int(path.name) for path in Path(f"/proc/{running.process.pid}/fd").iterdir())
        resource.prlimit(running.process.pid, resource.RLIMIT_NOFILE, (used + RESERVE + 8, used + RESERVE + 8))
        address = urlsplit(running.url)
        assert address.hostname and address.port
        for _ in range(2 * RESERVE):
            connections.enter_context(socket.create_connection((address.hostname, address.port), timeout=60))
        until(lambda: WARNING in log.read_text())
        connections.close()
        until(lambda: _answers(running.url))
        assert log.read_text().count(WARNING) == 1


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=60).status_code == 200
    except httpx.HTTPError:
        return False
