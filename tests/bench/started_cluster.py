"""A cluster for benches: a broker, a graph database and the topics, without processes of the project yet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.support.cluster import Cluster
from tests.support.kafka_server import LocalKafka, fresh
from tests.support.neo4j_server import LocalNeo4j


@contextmanager
def started_cluster(partitions: int) -> Iterator[Cluster]:
    """Yield the cluster; its servers end with the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, ExitStack() as stack:
        folders = [Path(made) / name for name in ("kafka", "neo4j", "data")]
        for folder in folders:
            folder.mkdir()
        kafka = LocalKafka(folders[0])
        stack.callback(kafka.kill)
        neo4j = LocalNeo4j(folders[1])
        stack.callback(neo4j.kill)
        cluster = Cluster(fresh(kafka), neo4j, folders[2])
        stack.callback(cluster.end)
        applied = cluster.run("topics", "apply", "--partitions", str(partitions))
        assert applied.returncode == 0, applied.stderr
        yield cluster
