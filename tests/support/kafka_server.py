"""A real Apache Kafka broker for tests: one node, KRaft, started and stopped as the tests need.

GRAPHTIDE_TEST_KAFKA names a running broker (which tests cannot stop). Otherwise it comes from Maven where Java is
installed, else from Docker. GRAPHTIDE_TEST_KAFKA_VERSION chooses the version: 3.9 and 4 are short names.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.topics import wait_for_partitions
from tests.support.maven import Unavailable, fetch
from tests.support.ports import free_ports

VERSIONS = {"4": "4.1.1", "3.9": "3.9.2"}
START_S = 180.0

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
num.recovery.threads.per.data.dir=1
log.cleaner.dedupe.buffer.size=4194304
log.cleaner.threads=1
auto.create.topics.enable={auto_create}
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=2
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
group.min.session.timeout.ms=1000
delete.topic.enable=true
"""


class KafkaServer(Protocol):
    """A broker. `address` and the data survive restarts. Methods block: call them in a thread from an event loop."""

    address: str

    def stop(self) -> None:
        """Shut down in order."""
        ...

    def kill(self) -> None:
        """Send kill -9."""
        ...

    def restart(self) -> None:
        """Start again on the same data and port, once it is stopped or killed; return when it answers."""
        ...


class LocalKafka:
    """A broker as a Java process of its own. `more` are properties that override the usual ones."""

    def __init__(
        self,
        folder: Path,
        version: str = "4",
        auto_create: bool = False,
        more: str = "",
        format_with: Sequence[str] = (),
    ) -> None:
        self._folder = folder
        self._classpath = fetch([f"org.apache.kafka:kafka_2.13:{VERSIONS.get(version, version)}"])
        port, controller = free_ports(2)
        self.address = f"127.0.0.1:{port}"
        self._config = folder / "server.properties"
        self._config.write_text(
            _PROPERTIES.format(
                folder=folder, port=port, controller=controller, auto_create="true" if auto_create else "false"
            )
            + more.format(port=port, controller=controller)
        )
        self._process: subprocess.Popen[bytes] | None = None
        cluster = ["-t", "Z3JhcGh0aWRlLXRlc3RzIQ", "-c", str(self._config), *format_with]
        formatted = subprocess.run(
            self._java("kafka.tools.StorageTool", "format", *cluster), capture_output=True, text=True, check=False
        )
        if formatted.returncode:
            raise RuntimeError(f"the broker's folder could not be made: {formatted.stdout}{formatted.stderr}")
        self.restart()

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(timeout=150)
            except subprocess.TimeoutExpired:
                self.kill()
        self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=150)
        self._process = None

    def restart(self) -> None:
        assert self._process is None, "stop the broker first"
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._java("kafka.Kafka", str(self._config)), stdout=log, stderr=log, cwd=self._folder
            )
        wait_until_it_answers(self.address, lambda: self._process is not None and self._process.poll() is None)

    def _java(self, main: str, *arguments: str) -> list[str]:
        sizes = ["-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]
        return ["java", *sizes, "-cp", self._classpath, main, *arguments]


class DockerKafka:
    """A broker in a container."""

    def __init__(self, version: str = "4") -> None:
        [port] = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._name = f"graphtide-tests-{uuid.uuid4().hex[:8]}"
        settings = {
            "KAFKA_NODE_ID": "1",
            "KAFKA_PROCESS_ROLES": "broker,controller",
            "KAFKA_LISTENERS": f"PLAINTEXT://:{port},CONTROLLER://:9093",
            "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
            "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
            "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
            "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
            "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
            "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
            "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
            "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        }
        environment = [part for name, value in settings.items() for part in ("-e", f"{name}={value}")]
        image = f"apache/kafka:{VERSIONS.get(version, version)}"
        _docker("run", "-d", "--name", self._name, "-p", f"{port}:{port}", *environment, image)
        wait_until_it_answers(self.address, lambda: True)

    def stop(self) -> None:
        _docker("stop", self._name)

    def kill(self) -> None:
        _docker("kill", self._name)

    def restart(self) -> None:
        _docker("start", self._name)
        wait_until_it_answers(self.address, lambda: True)

    def remove(self) -> None:
        _docker("rm", "-f", self._name)


class GivenKafka:
    """A broker that the environment names: the tests that stop it are skipped."""

    def __init__(self, address: str) -> None:
        self.address = address

    def stop(self) -> None:
        pytest.skip("GRAPHTIDE_TEST_KAFKA names a broker that is not ours to stop")

    def kill(self) -> None:
        self.stop()

    def restart(self) -> None:
        """Do nothing: the broker was never stopped."""


def wait_until_it_answers(address: str, is_alive: object) -> None:
    """Return once the broker lists its topics; raise when it died or takes too long."""
    alive = is_alive if callable(is_alive) else lambda: True
    deadline = time.monotonic() + START_S
    while not _in_own_loop(_answers(address)):
        if not alive():
            raise RuntimeError("the broker ended while it was starting; see broker.log in its folder")
        if time.monotonic() > deadline:
            raise RuntimeError(f"the broker did not answer at {address} within {START_S:g} s")
        time.sleep(0.05)


def make_topic(server: KafkaServer, name: str, partitions: int = 1, settings: Mapping[str, str] | None = None) -> None:
    """Create a topic with limits of the test's own, such as {"max.message.bytes": "1000"}."""

    async def create() -> bool:
        admin = AIOKafkaAdminClient(bootstrap_servers=server.address)
        await admin.start()
        try:
            made = await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=dict(settings or {}))])
            assert not [code for _, code, _ in made.topic_errors if code], made
            await wait_for_partitions(admin, name, partitions)
        finally:
            await admin.close()
        return True

    _in_own_loop(create())


def fresh(server: KafkaServer) -> KafkaAddress:
    """Return an address whose topics and groups are this test's own."""
    return KafkaAddress(server.address, prefix=f"{uuid.uuid4().hex[:8]}-")


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """Return the broker that tests share. A test that stops it starts it again."""
    version = os.environ.get("GRAPHTIDE_TEST_KAFKA_VERSION", "4")
    if given := os.environ.get("GRAPHTIDE_TEST_KAFKA"):
        yield GivenKafka(given)
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            local = LocalKafka(Path(folder), version)
        except Unavailable as error:
            if not _has_docker():
                pytest.skip(f"no Kafka: {error}, no Docker is running, and GRAPHTIDE_TEST_KAFKA names none")
            container = DockerKafka(version)
            try:
                yield container
            finally:
                container.remove()
            return
        try:
            yield local
        finally:
            local.kill()


async def _answers(address: str) -> bool:
    host, _, port = address.split(",", maxsplit=1)[0].rpartition(":")
    try:  # the client would log each refusal
        _, writer = await asyncio.open_connection(host, int(port))
    except OSError:
        return False
    writer.close()
    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=2_000)
    try:
        await admin.start()
        await admin.list_topics()
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await admin.close()
    return True


def _in_own_loop(work: object) -> bool:
    """Run a coroutine to its end, also where a loop runs already."""
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))  # type: ignore[arg-type]
    thread.start()
    thread.join()
    if not results:
        raise RuntimeError("the broker could not be asked; the traceback is above")
    return results[0]


def _has_docker() -> bool:
    return (
        shutil.which("docker") is not None
        and not subprocess.run(["docker", "info"], capture_output=True, check=False, timeout=30).returncode
    )


def _docker(*arguments: str) -> None:
    subprocess.run(["docker", *arguments], check=True, capture_output=True, timeout=300)
