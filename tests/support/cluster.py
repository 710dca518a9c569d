"""A cluster of real processes on a real broker and a real graph database: started, stopped, killed, frozen by name."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx

from graphtide.infra.kafka.address import KafkaAddress
from tests.support import failpoints
from tests.support.environment import plain_environment
from tests.support.neo4j_server import GraphServer
from tests.support.processes import ProcessResources, resources_of

START_S = 120.0
GRAPHTIDE = [sys.executable, "-c", "from graphtide.services.cli import main; main()"]
ARMED = [sys.executable, "-m", "tests.support.cluster_failpoints"]


class ProcessEnded(RuntimeError):  # noqa: N818 -- says what is the case, as the errors of the project do
    """The error raised when a process ends before it reports its addresses."""


@dataclass(slots=True)
class Process:
    """A running process of the cluster, its addresses, its log file, and the resources it held when it was ready."""

    process: subprocess.Popen[str]
    addresses: Mapping[str, str]
    log: IO[bytes]
    begun: ProcessResources | None = None

    def kill(self) -> None:
        """Send kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self._ended()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def is_ready(self) -> bool:
        return httpx.get(f"{self.addresses['metrics']}/readyz", timeout=60).status_code == 200

    def metric(self, name: str, labels: str = "") -> float:
        """Return the sum over all labels, or over the series with these labels, such as `graph="g"`."""
        at = self.addresses["metrics"].removesuffix("/metrics")  # a worker reports the URL of its pages
        lines = httpx.get(f"{at}/metrics", timeout=60).text.splitlines()
        ours = [line for line in lines if line.split("{")[0].split(" ")[0] == name and labels in line]
        return sum(float(line.rsplit(" ", 1)[1]) for line in ours)

    def logged(self) -> str:
        return Path(self.log.name).read_text(errors="replace")

    def _ended(self) -> int:
        code = self.process.wait(timeout=150)
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.log.close()
        return code


@dataclass
class Cluster:
    """The processes by name. `topics` are created once, before the first process."""

    kafka: KafkaAddress
    graph_server: GraphServer
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        plain = plain_environment()
        bolt = self.graph_server.address
        ours = {
            "GRAPHTIDE_KAFKA": self.kafka.bootstrap,
            "GRAPHTIDE_KAFKA_PREFIX": self.kafka.prefix,
            "GRAPHTIDE_KAFKA_SESSION_TIMEOUT_S": "3",
            "GRAPHTIDE_BOLT": bolt.uri,
            "GRAPHTIDE_BOLT_USER": bolt.user,
            "GRAPHTIDE_BOLT_PASSWORD": bolt.password,
        }
        return {**plain, **ours, **self.settings}

    def run(self, *arguments: str, settings: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command of the command line to its end."""
        environment = {**self.environment, **(settings or {})}
        command = [*GRAPHTIDE, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    def start(self, name: str, *arguments: str, settings: Mapping[str, str] | None = None) -> Process:
        """Start a process and wait until it reports its addresses."""
        [started] = self.start_all({name: arguments}, settings)
        return started

    def start_all(
        self, chosen: Mapping[str, tuple[str, ...]], settings: Mapping[str, str] | None = None
    ) -> list[Process]:
        """Start processes at the same time and wait for all."""
        for name, arguments in chosen.items():
            self.begin(name, *arguments, settings=settings)
        for name in chosen:
            self.await_ready(name)
        return [self.processes[name] for name in chosen]

    def begin(self, name: str, *arguments: str, settings: Mapping[str, str] | None = None) -> Process:
        """Start a process without waiting."""
        log = tempfile.NamedTemporaryFile(dir=self.folder, prefix=f"{name}-", suffix=".log", delete=False)  # noqa: SIM115
        environment = {**self.environment, **(settings or {})}
        program = ARMED if failpoints.VARIABLE in environment else GRAPHTIDE
        command = [*program, *arguments, "--json", "--data", str(self.folder / name)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
        self.processes[name] = Process(process, {}, log)
        return self.processes[name]

    def await_ready(self, name: str) -> Process:
        """Return when the process has reported its addresses. Raises ProcessEnded."""
        one = self.processes[name]
        assert one.process.stdout is not None
        line = one.process.stdout.readline()
        if not line:
            raise ProcessEnded(f"{name} ended with {one.process.wait()} before it was ready: {one.logged()[-2000:]}")
        one.addresses = json.loads(line)
        one.begun = resources_of(one.process.pid)
        return one

    def worker(self, name: str, role: str) -> Process:
        return self.start(name, "worker", role, "--metrics-port", "0")

    def kill(self, name: str) -> None:
        self.processes.pop(name).kill()

    def stop(self, name: str) -> int:
        return self.processes.pop(name).stop()

    def end(self) -> None:
        """Kill the processes that still run and print the ends of the logs."""
        for name in list(self.processes):
            self.processes[name].thaw()
            print(f"== {name}\n{self.processes[name].logged()[-3000:]}")
            self.kill(name)


def until(holds: Callable[[], bool], timeout_s: float = START_S) -> None:
    """Return as soon as the condition holds; fail at the time limit."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        time.sleep(0.05)
