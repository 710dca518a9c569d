"""`graphtide topics`, as a user runs it, against a real cluster."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.environment import plain_environment
from tests.support.kafka_server import KafkaServer

NAMES = ["documents", "extractions", "deltas", "answers", "graph-changes", "documents.dlq"]


def run(*arguments: str, kafka: str) -> subprocess.CompletedProcess[str]:
    environment = plain_environment()
    return subprocess.run(
        [sys.executable, "-c", "from graphtide.services.cli import main; main()", "topics", *arguments],
        env={**environment, "GRAPHTIDE_KAFKA": kafka},
        capture_output=True,
        text=True,
        check=False,
    )


def test_topics_are_planned_then_made_then_right(kafka: KafkaServer) -> None:
    """A dry run reports missing topics and creates none; apply creates them; afterwards there is nothing to do."""
    planned = run("apply", "--dry-run", "--json", kafka=kafka.address)
    assert planned.returncode == 0, planned.stderr
    assert [one["topic"] for one in json.loads(planned.stdout)["topics"]] == NAMES
    applied = run("apply", "--partitions", "2", kafka=kafka.address)
    assert applied.returncode == 0, applied.stderr
    assert "documents" in applied.stdout
    listed = json.loads(run("apply", "--dry-run", "--partitions", "2", "--json", kafka=kafka.address).stdout)["topics"]
    assert [one["to_do"] for one in listed] == [[]] * len(NAMES)
    assert [one["partitions"] for one in listed] == [2, 2, 2, 2, 2, 1]


def test_topics_say_in_one_sentence_why_they_cannot_be_reached() -> None:
    """No configured cluster is a usage error, an unreachable one a failure; neither shows a traceback."""
    none = run("list", kafka="")
    assert (none.returncode, "GRAPHTIDE_KAFKA" in none.stderr) == (2, True)
    unreachable = run("list", kafka="127.0.0.1:1")
    assert unreachable.returncode == 1
    assert "Traceback" not in unreachable.stderr
    assert "Kafka" in unreachable.stderr
