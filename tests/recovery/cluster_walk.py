"""A seeded random walk of a cluster of real processes, against a model that knows only which documents are live.

Publish, edit, delete, by HTTP and by other producers with partitioners of their own, added partitions, kill -9 of any
process, death at a named point, SIGTERM, more workers and fewer, a frozen writer, question, rebuild, recount: in any
order, on two graphs. `make walk MINUTES=30` walks for long and prints the steps.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.recovery.walk import DOCUMENTS, expected_digest, random_body
from tests.support import failpoints
from tests.support.cluster import Cluster, ProcessEnded
from tests.support.disturbing import PARTITIONS, ROLES, disturbed, start
from tests.support.extractions import NAMES
from tests.support.invariants import FRONT, ModelledGraph
from tests.support.kafka_server import GivenKafka, LocalKafka
from tests.support.neo4j_server import GivenServer, LocalNeo4j
from tests.support.other_producers import DEFAULT, MURMUR2, OtherProducer

SESSION_S = 3.0
"""The permitted silence of a process of the tests' clusters (`kafka_session_timeout_s`)."""
POINTS = {
    FRONT: ("appended-not-entered", "accepted"),
    "extract": ("attempt-counted", "before-model", "after-model", "extraction-appended", "before-extract-position"),
    "consolidate": (
        "claimed",
        "before-transaction",
        "in-transaction",
        "committed-not-relayed",
        "relayed-not-marked",
        "before-position",
    ),
}
SECOND = "-2"
MAX_PARTITIONS = 12


@dataclass
class Walk:
    """One walk. `taken` counts the steps by kind, `deaths` the processes that did not end in order."""

    rng: random.Random
    cluster: Cluster
    courses: list[ModelledGraph]
    taken: Counter[str] = field(default_factory=Counter)
    deaths: int = 0
    frozen: list[tuple[str, float]] = field(default_factory=list)
    partitions: int = PARTITIONS
    producers: list[OtherProducer] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.producers += [OtherProducer(self.cluster.kafka, one) for one in (DEFAULT, MURMUR2)]

    def step(self) -> None:
        """Take one random step."""
        kinds: tuple[tuple[Callable[[], None], int], ...] = (
            (self.publish, 60),
            (self.delete, 12),
            (self.publish_otherwise, 15),
            (self.add_partitions, 1),
            (self.ask, 8),
            (self.kill, 4),
            (self.die_at_a_point, 5),
            (self.stop, 2),
            (self.one_more_or_less, 2),
            (self.freeze, 1),
            (self.rebuild, 2),
            (self.check, 2),
        )
        [chosen] = self.rng.choices([kind for kind, _ in kinds], [often for _, often in kinds])
        self.taken[chosen.__name__] += 1
        self._thaw(late_only=True)
        chosen()

    @property
    def course(self) -> ModelledGraph:
        return self.rng.choice(self.courses)

    def publish(self) -> None:
        self.course.put(f"d{self.rng.randrange(DOCUMENTS)}", random_body(self.rng))

    def delete(self) -> None:
        course = self.course
        if course.live:
            course.delete(self.rng.choice(sorted(course.live)))

    def publish_otherwise(self) -> None:
        """Publish and delete documents by librdkafka: its own partitioner, murmur2, or a chosen partition."""
        course, producer = self.course, self.rng.choice(self.producers)
        for _ in range(self.rng.randint(1, 4)):
            doc_id = f"d{self.rng.randrange(DOCUMENTS)}"
            body = None if self.rng.random() < 0.2 else random_body(self.rng)
            chosen = self.rng.randrange(PARTITIONS) if self.rng.random() < 0.3 else -1
            course.put_by(producer, doc_id, body, chosen)

    def add_partitions(self) -> None:
        """Add one or two partitions to each topic under load; existing producers keep their metadata."""
        if self.partitions < MAX_PARTITIONS:
            self.partitions += self.rng.randint(1, 2)
            added = self.cluster.run("topics", "apply", "--partitions", str(self.partitions))
            assert added.returncode == 0, added.stderr
            self.producers.append(OtherProducer(self.cluster.kafka, self.rng.choice((DEFAULT, MURMUR2))))

    def ask(self) -> None:
        """Query after everything so far: passages are cut from live texts, and a document reads as published."""
        course = self._settled()
        asked = {"question": f"{self.rng.choice(NAMES)}?", "mode": self.rng.choice(("local", "vector"))}
        found = course.request("POST", "/query", asked | {"generate": False}).json()
        for passage in found["passages"]:
            assert passage["text"] in course.live[passage["doc_id"]]["text"]
        doc_id = self.rng.choice(sorted(course.live))
        status = course.request("GET", f"/documents/{doc_id}").json()
        assert (status["state"], status["text"]) == ("applied", course.live[doc_id]["text"])

    def kill(self) -> None:
        """Send kill -9 from outside, and sometimes leave the role without a process for a while."""
        self._end(self.rng.choice(sorted(self.cluster.processes)))
        if self.rng.random() < 0.5:
            self.revive()

    def die_at_a_point(self) -> None:
        """Restart a process with a failpoint: it dies when it passes it, which may be long after or never."""
        role = self.rng.choice(sorted(POINTS))
        point = f"{self.rng.choice(POINTS[role])}:{self.rng.randint(1, 4)}"
        self._end(role)
        try:
            start(self.cluster, role, {failpoints.VARIABLE: point})
        except ProcessEnded:
            self.cluster.processes.pop(role)
            self.deaths += 1

    def stop(self) -> None:
        """Send SIGTERM; a failpoint may still turn it into a death."""
        self._thaw(late_only=False)
        name = self.rng.choice(sorted(self.cluster.processes))
        assert self.cluster.stop(name) in (0, -9), name

    def one_more_or_less(self) -> None:
        """Add a second worker of a role, or remove it."""
        role = self.rng.choice(("extract", "consolidate"))
        name = role + SECOND
        if name in self.cluster.processes:
            self._thaw(late_only=False)
            assert self.cluster.stop(name) in (0, -9), name
        else:
            self.cluster.start_all({name: ROLES[role]})

    def freeze(self) -> None:
        """Freeze a worker for longer than its session, then continue it."""
        awake = sorted(set(self.cluster.processes) - {FRONT} - {name for name, _ in self.frozen})
        if awake:
            name = self.rng.choice(awake)
            self.cluster.processes[name].freeze()
            self.frozen.append((name, time.monotonic()))

    def rebuild(self) -> None:
        course = self._settled()
        found = course.request("POST", "/rebuild").json()
        expected = expected_digest(course.live)
        if not found["before"] == found["after"] == expected:
            raise AssertionError("I4", found, expected, course.differing())

    def check(self) -> None:
        """Check all invariants of both graphs against the model."""
        for course in self.courses:
            self._settled(course)
            course.check()

    def _settled(self, course: ModelledGraph | None = None) -> ModelledGraph:
        self._thaw(late_only=False)
        self.revive()
        chosen = course or self.course
        chosen.settle()
        return chosen

    def _has_died(self, name: str) -> bool:
        return self.cluster.processes[name].process.poll() is not None

    def revive(self) -> None:
        """Start the processes that have died or are missing."""
        for name in [name for name in self.cluster.processes if self._has_died(name)]:
            self._end(name)
        for role in ROLES:
            if role not in self.cluster.processes:
                start(self.cluster, role)

    def recover(self) -> None:
        """Let a waiting request succeed: continue processes that were frozen for long enough, start missing ones."""
        self._thaw(late_only=True)
        self.revive()

    def _end(self, name: str) -> None:
        if name in self.cluster.processes:
            self.frozen = [one for one in self.frozen if one[0] != name]
            self.cluster.kill(name)
            self.deaths += 1

    def _thaw(self, late_only: bool) -> None:
        """Continue a process that was frozen for longer than a session, after the whole time."""
        for name, since in list(self.frozen):
            left_s = since + 2 * SESSION_S - time.monotonic()
            if left_s > 0 and late_only:
                continue
            time.sleep(max(0.0, left_s))  # being frozen past the session is the fault itself
            self.cluster.processes[name].thaw()
            self.frozen.remove((name, since))


def walk(seed: int, cluster: Cluster, enough: Callable[[int], bool]) -> Walk:
    """Walk until `enough` (called with the number of steps) returns True, and check everything at the end."""
    courses = [ModelledGraph(cluster, f"walk-{seed}-{number}") for number in range(2)]
    one = Walk(random.Random(seed), cluster, courses)
    for course in courses:
        course.on_silence = one.recover
    while not enough(sum(one.taken.values())):
        one.step()
    one.check()
    return one


def main() -> None:
    """Walk for some minutes, on servers of its own or those that the environment names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with contextlib.ExitStack() as stack:
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        for name in ("kafka", "neo4j", "logs"):
            (made / name).mkdir()
        kafka, neo4j = os.environ.get("GRAPHTIDE_TEST_KAFKA"), os.environ.get("GRAPHTIDE_TEST_NEO4J")
        broker = GivenKafka(kafka) if kafka else LocalKafka(made / "kafka")
        graph_server = GivenServer(neo4j) if neo4j else LocalNeo4j(made / "neo4j")
        if isinstance(broker, LocalKafka):
            stack.callback(broker.kill)
        if isinstance(graph_server, LocalNeo4j):
            stack.callback(graph_server.kill)
        cluster = stack.enter_context(disturbed(broker, graph_server, made / "logs"))
        end = time.monotonic() + 60 * given.minutes
        one = walk(given.seed, cluster, lambda _: time.monotonic() > end)
    steps = ", ".join(f"{count} {kind}" for kind, count in sorted(one.taken.items()))
    accepted, versions = sum(each.accepted for each in one.courses), [each.version for each in one.courses]
    print(f"all held over {sum(one.taken.values())} steps: {steps}")
    print(f"{accepted} revisions, {one.deaths} deaths, versions {versions}")


if __name__ == "__main__":
    main()
