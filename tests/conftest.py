"""Fixtures that several folders of tests share."""

from tests.support.kafka_server import kafka

__all__ = ["kafka"]
