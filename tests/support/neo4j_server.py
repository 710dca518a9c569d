"""A real graph database for tests: Neo4j 5 community, started, killed and restarted as the tests need.

It comes from Maven where Java is installed, else from Docker. GRAPHTIDE_TEST_MEMGRAPH or GRAPHTIDE_TEST_NEO4J, a Bolt
address (with credentials in it, if there are any), overrides both: the same suite runs there, on a server that cannot
be stopped, and whose data is deleted.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import pytest
from neo4j import GraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.database import MEMGRAPH
from tests.support.maven import Unavailable, cache_folder, fetch
from tests.support.ports import free_port

VERSION = "5.26.30"
USER = "neo4j"
START_S = 600.0
SWEEP_NODES = 10_000
_LAUNCHER = Path(__file__).with_name("Neo4jServer.java")
_GIVEN = ("GRAPHTIDE_TEST_MEMGRAPH", "GRAPHTIDE_TEST_NEO4J")

_CONFIGURATION = """
server.bolt.enabled=true
server.bolt.listen_address=127.0.0.1:{port}
dbms.security.auth_enabled=true
dbms.usage_report.enabled=false
server.memory.pagecache.size=64m
db.tx_log.preallocate=false
db.tx_log.rotation.size=16m
db.transaction.timeout=0
"""


class GraphServer(Protocol):
    """A server. Its address and data survive restarts. Methods block: call them in a thread from an event loop."""

    address: BoltAddress

    def stop(self) -> None:
        """Shut down in order."""
        ...

    def kill(self) -> None:
        """Send kill -9."""
        ...

    def restart(self) -> None:
        """Start again on the same data and port, once it is stopped or killed; return when it answers."""
        ...


class LocalNeo4j:
    """A server as a Java process of its own, by TLS alone where `scheme` demands it; `more` are settings for that."""

    def __init__(self, folder: Path, scheme: str = "bolt", more: str = "") -> None:
        self._folder = folder
        self._classpath = fetch([f"org.neo4j:neo4j:{VERSION}", f"org.neo4j:neo4j-bolt:{VERSION}"])
        self._launcher = _compiled(self._classpath)
        port = free_port()
        self.address = BoltAddress(f"{scheme}://127.0.0.1:{port}", USER, secrets.token_hex(8))
        (folder / "neo4j.conf").write_text(_CONFIGURATION.format(port=port) + more)
        self._process: subprocess.Popen[bytes] | None = None
        self.restart()

    @property
    def pid(self) -> int:
        """Return the process id, None without a process."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        assert self._process is None, "stop the server first"
        sizes = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        opened = ["--add-opens=java.base/java.nio=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED"]
        classpath = f"{self._launcher}{os.pathsep}{self._classpath}"
        command = ["java", *sizes, *opened, "-cp", classpath, _LAUNCHER.stem, str(self._folder)]
        environment = {**os.environ, "NEO4J_TEST_PASSWORD": self.address.password}
        with (self._folder / "server.log").open("ab") as log:
            # It ends when its standard input is closed, so it never outlives a test run.
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment)
        try:
            wait_until_it_answers(self.address, self._process)
        except RuntimeError as error:
            self.kill()
            raise RuntimeError(f"{error}: {(self._folder / 'server.log').read_text()[-2000:]}") from error

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(timeout=150)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=150)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


class DockerNeo4j:
    """A server in a container."""

    def __init__(self) -> None:
        port, password = free_port(), secrets.token_hex(8)
        self.address = BoltAddress(f"bolt://127.0.0.1:{port}", USER, password)
        self._name = f"graphtide-tests-{uuid.uuid4().hex[:8]}"
        settings = ["-e", f"NEO4J_AUTH={USER}/{password}", "-e", "NEO4J_server_memory_heap_max__size=512m"]
        _docker("run", "-d", "--name", self._name, "-p", f"{port}:7687", *settings, f"neo4j:{VERSION}-community")
        wait_until_it_answers(self.address)

    def stop(self) -> None:
        _docker("stop", self._name)

    def kill(self) -> None:
        _docker("kill", self._name)

    def restart(self) -> None:
        _docker("start", self._name)
        wait_until_it_answers(self.address)

    def remove(self) -> None:
        _docker("rm", "-f", self._name)


class GivenServer:
    """A server that the environment names: the tests that stop it are skipped."""

    def __init__(self, uri: str) -> None:
        parts = urlsplit(uri)
        place = parts.netloc.rpartition("@")[2]
        self.address = BoltAddress(
            f"{parts.scheme}://{place}", unquote(parts.username or ""), unquote(parts.password or "")
        )

    def stop(self) -> None:
        pytest.skip("the environment names a graph database that is not ours to stop")

    def kill(self) -> None:
        self.stop()

    def restart(self) -> None:
        """Do nothing: the server was never stopped."""


def wait_until_it_answers(address: BoltAddress, process: subprocess.Popen[bytes] | None = None) -> None:
    """Return once the server accepts a connection; raise RuntimeError when it died or takes too long."""
    deadline = time.monotonic() + START_S
    while not _answers(address):
        if process is not None and process.poll() is not None:
            raise RuntimeError("the graph database ended while it was starting")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the graph database did not answer at {address.uri} within {START_S:g} s")
        time.sleep(0.1)


def clear(address: BoltAddress) -> None:
    """Delete every node, so that a test finds an empty database; keep the schema and the record that it was created."""
    statement = "MATCH (n) WHERE NOT n:Schema WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"
    with GraphDatabase.driver(address.uri, auth=_credentials(address)) as driver, driver.session() as session:
        while session.run(statement, limit=SWEEP_NODES).single(strict=True)["gone"] == SWEEP_NODES:
            continue


def is_memgraph(address: BoltAddress) -> bool:
    with GraphDatabase.driver(address.uri, auth=_credentials(address)) as driver:
        return MEMGRAPH in driver.get_server_info().agent


@pytest.fixture(scope="session")
def graph_server() -> Iterator[GraphServer]:
    """Return the graph database that tests share. A test that stops it starts it again."""
    if given := next((os.environ[name] for name in _GIVEN if os.environ.get(name)), None):
        yield GivenServer(given)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            local = LocalNeo4j(Path(folder))
        except Unavailable as error:
            if not _has_docker():
                pytest.skip(f"no graph database: {error}, no Docker is running, and {' and '.join(_GIVEN)} name none")
            container = DockerNeo4j()
            try:
                yield container
            finally:
                container.remove()
            return
        try:
            yield local
        finally:
            local.kill()


def _compiled(classpath: str) -> Path:
    """Return the folder with the launcher's class, compiled once."""
    name = sha256(_LAUNCHER.read_bytes() + VERSION.encode()).hexdigest()[:16]
    folder = cache_folder() / "launchers" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            command = ["javac", "-cp", classpath, "-d", str(Path(made) / "out"), str(_LAUNCHER)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
            except FileNotFoundError as error:
                raise Unavailable("javac not on this machine") from error
            if done.returncode:
                raise Unavailable(f"the launcher of Neo4j does not compile: {done.stderr[:200]}")
            with suppress(OSError):  # another process renamed first
                (Path(made) / "out").rename(folder)
    return folder


def _answers(address: BoltAddress) -> bool:
    host, _, port = address.uri.rpartition("//")[2].partition(":")
    try:  # the driver would wait and retry
        socket.create_connection((host, int(port)), timeout=2).close()
        with GraphDatabase.driver(address.uri, auth=_credentials(address)) as driver, driver.session() as session:
            session.run("RETURN 1").consume()
    except (DriverError, Neo4jError, OSError):
        return False
    return True


def _credentials(address: BoltAddress) -> tuple[str, str] | None:
    return (address.user, address.password) if address.user else None


def _has_docker() -> bool:
    return (
        shutil.which("docker") is not None
        and not subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode
    )


def _docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=300)
