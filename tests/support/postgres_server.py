"""PostgreSQL for tests: this machine's, or Debian's package, installed on first use; with logical replication."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.debian import find_or_install
from tests.support.maven import Unavailable
from tests.support.ports import free_port

REMEDY = (
    "install PostgreSQL (Debian: apt-get install postgresql), or name its programs' folder with GRAPHTIDE_TEST_POSTGRES"
)
START_S = 120.0
_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "fsync": "off",
    "shared_buffers": "16MB",
    "max_connections": "20",
    "max_wal_senders": "4",
    "max_replication_slots": "8",
}


class PostgresServer:
    """A server with one database. It refuses to run as root, so it then runs as the user of Debian's package."""

    user = "postgres"
    name = "postgres"

    def __init__(self) -> None:
        self._programs = programs()
        self._as = _unprivileged()
        self._folder = Path(tempfile.mkdtemp(prefix="graphtide-postgres-", dir="/tmp"))  # its user can reach it there
        self.port = free_port()
        if self._as:
            shutil.chown(self._folder, self._as)
        made = self._folder / "data"
        command = [self._program("initdb"), "-D", str(made), "-U", self.user, "-A", "trust", "-N", "--locale=C.UTF-8"]
        done = subprocess.run(command, user=self._as, cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr[-500:]}")
        self._process = self._start()
        self._wait()

    def kill(self) -> None:
        """Send kill -9 to the server, and start it again on its data. Its other processes end when they notice."""
        self._process.kill()
        self._process.wait(timeout=60)
        deadline = time.monotonic() + START_S
        while True:
            self._process = self._start()
            try:
                self._wait()
            except RuntimeError:  # "pre-existing shared memory block is still in use"
                if time.monotonic() > deadline:
                    raise
            else:
                return

    def _start(self) -> subprocess.Popen[bytes]:
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        server = [self._program("postgres"), "-D", str(self._folder / "data"), "-p", str(self.port), *options]
        with (self._folder / "server.log").open("ab") as log:
            return subprocess.Popen(server, user=self._as, cwd=self._folder, stdout=log, stderr=log)

    def run(self, *statements: str) -> str:
        """Run statements, each in a transaction of its own; return the last one's rows as psql prints them."""
        text = ";\n".join((*statements, ""))
        done = subprocess.run(self._psql(), input=text, capture_output=True, text=True, check=False, timeout=120)
        assert not done.returncode, done.stderr
        return done.stdout.strip()

    @contextmanager
    def session(self) -> Iterator[PostgresSession]:
        """Yield a connection that is open before its first statement, for measurements."""
        session = PostgresSession(self._psql())
        try:
            session.wait()
            yield session
        finally:
            session.end()

    def end(self) -> None:
        """Stop the server and delete its data."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=60)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_S
        ready = [self._program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            log = (self._folder / "server.log").read_text()[-1000:]
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL did not start: {log}")
            time.sleep(0.1)

    def _psql(self) -> list[str]:
        options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", str(self.port)]
        return [self._program("psql"), *options, "-U", self.user, self.name]

    def _program(self, name: str) -> str:
        return str(self._programs / name)


class PostgresSession:
    """A connection of psql. Statements are sent without waiting for their end."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, statement: str) -> None:
        """Send a statement."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{statement};\n")
        self._process.stdin.flush()

    def wait(self) -> None:
        """Return when the statements before have ended."""
        self.send("SELECT 1")
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def end(self) -> None:
        """Close the connection."""
        self._process.communicate(timeout=60)


def programs() -> Path:
    """Return the folder of PostgreSQL's programs; as root on Debian it is installed if missing. Raises Unavailable."""
    return find_or_install("postgresql", _found, REMEDY)


def _found() -> Path | None:
    named = os.environ.get("GRAPHTIDE_TEST_POSTGRES")
    folders = [Path(named)] if named else sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "postgres").exists()), None)


def _unprivileged() -> str | None:
    """Return the user to run as; None if this process may run the server itself."""
    if os.geteuid():
        return None
    try:
        return pwd.getpwnam(PostgresServer.user).pw_name
    except KeyError:
        raise Unavailable(
            f"PostgreSQL refuses to run as root, and this machine has no user postgres: {REMEDY}"
        ) from None
