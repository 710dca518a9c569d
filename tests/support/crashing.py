"""A service that crashes and restarts, and the invariants that must hold whenever it has settled."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support import failpoints
from tests.support.environment import plain_environment
from tests.support.processes import Service, check_bounded, resources_of, start_service

ROOT = Path(__file__).parents[2]
Body = dict[str, Any]


def start_armed(data: Path, failpoint: str, settings: Mapping[str, str] | None = None) -> Service | None:
    """Start the service with a failpoint; return None when it dies before it listens."""
    arguments = ("serve", "--json", "--port", "0", "--grpc-port", "0", "--data", str(data))
    environment = plain_environment()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.failpoints", *arguments],
        cwd=ROOT,
        env={**environment, **(settings or {}), failpoints.VARIABLE: failpoint},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        code = process.wait()
        process.stdout.close()
        assert code == -signal.SIGKILL, f"the service ended with {code} before it listened"
        return None
    addresses = json.loads(line)
    return Service(process, addresses["http"], addresses["grpc"], resources_of(process.pid))


@dataclass
class Crashing:
    """One graph's service over its lives. `live` is the model: bodies by document, as the last answer left them.

    A request that dies with the service is sent again to the next one: whether the first was accepted or not, the final
    graph is the same.
    """

    data: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    graph: str = "g"
    live: dict[str, Body] = field(default_factory=dict)
    accepted: int = 0
    deaths: int = 0
    version: int = 0
    next_offset: int = 0
    service: Service | None = None
    failpoints: deque[str] = field(default_factory=deque)

    def start(self, *failpoints: str) -> None:
        """Begin a life. The failpoints apply to this life and to those after it, one each; later lives have none."""
        self.failpoints.extend(failpoints)
        while self.service is None:
            if not self.failpoints:
                self.service = start_service(self.data, self.settings)
                return
            self.service = start_armed(self.data, self.failpoints.popleft(), self.settings)
            if self.service is None:
                self._died()

    def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send one request under the graph's URL until a process lives long enough to answer it."""
        while True:
            if self.service is None:
                self.start()
            assert self.service is not None
            try:
                url = f"{self.service.url}/v1/graphs/{self.graph}{path}"
                return httpx.request(method, url, json=body, timeout=120)
            except httpx.TransportError:
                self.wait_for_death()

    def put(self, doc_id: str, body: Body) -> None:
        """Publish a new revision of a document."""
        response = self.request("PUT", f"/documents/{doc_id}", body)
        assert response.status_code == 202, response.text
        self.live[doc_id] = body
        self.accepted += 1

    def delete(self, doc_id: str) -> None:
        """Delete a document that is live in the model. (Sent again after a crash, it may be deleted already.)"""
        response = self.request("DELETE", f"/documents/{doc_id}")
        assert response.status_code in (202, 404), response.text
        del self.live[doc_id]
        self.accepted += response.status_code == 202

    def kill(self) -> None:
        """Send kill -9 from outside."""
        assert self.service is not None
        self.service.kill()
        self._died()

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        assert self.service is not None
        code = self.service.stop()
        self.service = None
        return code

    def wait_for_death(self) -> None:
        """Wait for the service to die at its failpoint."""
        assert self.service is not None
        code = self.service.process.wait(timeout=60)
        assert code == -signal.SIGKILL, f"the service ended with {code}"
        if self.service.process.stdout is not None:
            self.service.process.stdout.close()
        self._died()

    def _died(self) -> None:
        """Check I5 at every death: version and watermark have not decreased."""
        self.service = None
        self.deaths += 1
        version, next_offset = stored_version_and_watermark(self.data, self.graph)
        assert version >= self.version and next_offset >= self.next_offset
        self.version, self.next_offset = version, next_offset

    def settle(self) -> None:
        """Return when everything that was accepted has reached its end and is queryable."""
        while True:
            token = self.request("PUT", "/documents/last", {"text": "The last one.", "facts": []}).json()["token"]
            self.live["last"] = {"text": "The last one.", "facts": []}
            self.accepted += 1
            asked = {"question": "?", "after": token, "generate": False, "mode": "vector"}
            if self.request("POST", "/query", asked).status_code == 200:
                return

    def check(self, clean: str) -> None:
        """Check I1 to I6 and I9 for a service that has settled. `clean` is the digest of a clean build."""
        stats = self.request("GET", "/stats").json()
        revisions = stats["revisions"]
        assert stats["lag"] == 0 and revisions["accepted"] == 0, stats
        assert sum(revisions.values()) >= self.accepted, (revisions, self.accepted)
        assert stats["counts"]["documents"] == len(self.live), stats
        for kind, index in stats["indexes"].items():
            assert index["live"] == stats["counts"][kind], (kind, stats)
        verified = self.request("POST", "/verify").json()
        assert verified["differences"] == []
        assert stats["version"] >= self.version
        assert self.request("GET", "/digest").json()["digest"] == verified["digest"] == clean
        self.version = stats["version"]
        if self.service is not None:
            check_bounded("serve", self.service.process.pid, self.service.begun)


def stored_version_and_watermark(data: Path, graph: str) -> tuple[int, int]:
    """Return a graph's version and watermark, read from the file without the service."""
    with behind(data) as database:
        version = database.execute("SELECT version FROM graphs WHERE name = ?", (graph,)).fetchone()
        watermark = database.execute("SELECT next_offset FROM watermarks").fetchone()
        return (version[0] or 0) if version else 0, watermark[0] if watermark else 0


@contextmanager
def behind(data: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection to the database file without the service; commit what the block does."""
    with closing(sqlite3.connect(data / "graphtide.sqlite")) as database, database:
        yield database


@contextmanager
def crashing(data: Path, **given: Any) -> Iterator[Crashing]:
    """Yield a Crashing whose last process ends with the block."""
    one = Crashing(data, **given)
    try:
        yield one
    finally:
        if one.service is not None and one.service.process.poll() is None:
            one.stop()
