"""Fixtures that several folders of tests share."""

from tests.support.kafka_server import kafka
from tests.support.neo4j_server import graph_server

__all__ = ["graph_server", "kafka"]
