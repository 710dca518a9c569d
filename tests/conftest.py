"""Fixtures that several folders of tests share."""

from tests.support.kafka_server import kafka
from tests.support.neo4j_server import graph_server
from tests.support.secured import secured_kafka, secured_neo4j, trusted

__all__ = ["graph_server", "kafka", "secured_kafka", "secured_neo4j", "trusted"]
