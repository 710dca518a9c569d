"""Real processes for tests and benches: the service as a user starts it, and the embedding endpoint."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.support.bench_data import embedder_script
from tests.support.environment import plain_environment

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
ENTRY = "from graphtide.services.cli import main; main()"


@dataclass(frozen=True, slots=True)
class ProcessResources:
    """Resources of a process: its peak memory, open files and threads."""

    peak_bytes: int
    files: int
    threads: int


MAX_GROWTH = ProcessResources(128 << 20, 96, 64)
"""The growth over its start that I9 allows a process of the tests' small graphs: a view and a write model are a
megabyte, a pool of connections 32 files, a pool of threads 36.
"""


def resources_of(pid: int) -> ProcessResources | None:
    """Return the current resources of the process; None when it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        if "VmHWM" not in fields:
            return None
        peak_bytes = int(fields["VmHWM"].split()[0]) << 10
        return ProcessResources(peak_bytes, len(list(Path(f"/proc/{pid}/fd").iterdir())), int(fields["Threads"]))
    except (FileNotFoundError, ProcessLookupError):
        return None


def check_bounded(name: str, pid: int, begun: ProcessResources | None) -> None:
    """Check I9: a process that has not ended holds at most MAX_GROWTH more than at its start."""
    now = resources_of(pid)
    if now is None or begun is None:
        return
    for kind in ("peak_bytes", "files", "threads"):
        more = getattr(now, kind) - getattr(begun, kind)
        assert more <= getattr(MAX_GROWTH, kind), ("I9", name, kind, begun, now)


@dataclass(slots=True)
class Service:
    """A running `graphtide serve`, and the resources it held when it reported its addresses."""

    process: subprocess.Popen[str]
    url: str
    grpc: str
    begun: ProcessResources | None = None

    def cpu_s(self) -> float:
        """Return the CPU seconds of the process, in user and kernel mode, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE_BYTES

    def kill(self) -> None:
        """Send kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def _ended(self) -> int:
        code = self.process.wait(timeout=150)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def start_service(
    data: Path, settings: Mapping[str, str] | None = None, log: Path | None = None, port: int = 0, entry: str = ENTRY
) -> Service:
    """Start the service on free ports and wait until it reports its addresses. Its log goes to the file `log`; `port`
    is that of HTTP, 0 for any. `entry` is the Python statement that runs the command line.
    """
    command = [
        sys.executable,
        "-c",
        entry,
        "serve",
        "--json",
        "--port",
        str(port),
        "--grpc-port",
        "0",
    ]
    environment = plain_environment()
    with open(log, "ab") if log else nullcontext() as kept:  # noqa: PTH123 -- a Path has no way to be no file
        process = subprocess.Popen(
            [*command, "--data", str(data)],
            env={**environment, **(settings or {})},
            stdout=subprocess.PIPE,
            stderr=kept,
            text=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the service ended with {process.wait()} before it listened")
    addresses = json.loads(line)
    return Service(process, addresses["http"], addresses["grpc"], resources_of(process.pid))


@contextmanager
def service(
    data: Path, settings: Mapping[str, str] | None = None, log: Path | None = None, entry: str = ENTRY
) -> Iterator[Service]:
    """Yield a service for the duration of a block; it is stopped however the block ends."""
    running = start_service(data, settings, log, entry=entry)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


@contextmanager
def embedding_endpoint(python: str, port: int) -> Iterator[str]:
    """Yield the embedding endpoint's base URL; `python` is an interpreter with the script's packages."""
    process = subprocess.Popen([python, str(embedder_script()), "--port", str(port)], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        deadline = time.monotonic() + 120
        while True:
            if process.poll() is not None:
                raise RuntimeError(f"the embedding endpoint ended with {process.returncode}")
            try:
                httpx.get(f"{url}/models", timeout=5).raise_for_status()
                break
            except httpx.HTTPError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()
