"""Debezium's engine for tests, embedded from Maven: reads PostgreSQL's replication stream, and writes to Kafka."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tests.support.maven import Unavailable, cache_folder, fetch
from tests.support.postgres_server import PostgresServer

VERSION = "3.6.1.Final"
_RUNNER = Path(__file__).with_name("DebeziumRunner.java")
_MODULES = ("debezium-api", "debezium-embedded", "debezium-connector-postgres")
_PROPERTIES = {
    "name": "tests",
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "plugin.name": "pgoutput",
    "database.hostname": "127.0.0.1",
    "publication.autocreate.mode": "filtered",
    "snapshot.mode": "initial",
    "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
    "offset.flush.interval.ms": "200",
    "poll.interval.ms": "20",
    "decimal.handling.mode": "precise",
    "converter.schemas.enable": "true",
}


class DebeziumEngine:
    """An engine. Its offsets and its replication slot survive restarts. Raises Unavailable."""

    def __init__(
        self,
        folder: Path,
        database: PostgresServer,
        kafka: str,
        prefix: str,
        tables: str,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._folder = folder
        self._classpath = fetch([f"io.debezium:{module}:{VERSION}" for module in _MODULES])
        self._compiled = _compiled(self._classpath)
        slot = prefix.replace("-", "_").replace(".", "_")
        chosen = {
            **_PROPERTIES,
            "database.port": str(database.port),
            "database.user": database.user,
            "database.password": "",
            "database.dbname": database.name,
            "topic.prefix": prefix,
            "table.include.list": tables,
            "slot.name": slot,
            "publication.name": slot,
            "offset.storage.file.filename": str(folder / "offsets"),
            "test.kafka": kafka,
            **(more or {}),
        }
        self._properties = folder / "engine.properties"
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in chosen.items()))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, or start again: the engine continues at its stored offset."""
        assert self._process is None, "stop the engine first"
        sizes = ["-Xms32m", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        command = ["java", *sizes, "-cp", f"{self._compiled}{os.pathsep}{self._classpath}", _RUNNER.stem]
        with (self._folder / "engine.log").open("ab") as log:
            # It ends when its standard input is closed, so it never outlives a test run.
            self._process = subprocess.Popen(
                [*command, str(self._properties)], stdin=subprocess.PIPE, stdout=log, stderr=log
            )

    def kill(self) -> None:
        """Send kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Shut down in order."""
        self._end(signal.SIGTERM)

    def log(self) -> str:
        """Return the end of its log."""
        return (self._folder / "engine.log").read_text()[-3000:]

    def _end(self, how: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(how)
        self._process.wait(timeout=150)
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None


def _compiled(classpath: str) -> Path:
    """Return the folder with the runner's classes, compiled once."""
    name = sha256(_RUNNER.read_bytes() + VERSION.encode()).hexdigest()[:16]
    folder = cache_folder() / "launchers" / name
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            command = ["javac", "-cp", classpath, "-d", str(Path(made) / "out"), str(_RUNNER)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
            except FileNotFoundError as error:
                raise Unavailable("javac not on this machine: install a JDK") from error
            if done.returncode:
                raise Unavailable(f"the runner of Debezium does not compile: {done.stderr[:500]}")
            with suppress(OSError):  # another process renamed first
                (Path(made) / "out").rename(folder)
    return folder
