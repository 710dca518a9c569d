"""Producers that are not Graphtide's: librdkafka with the partitioner that a test chooses."""

from __future__ import annotations

import json
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.streams.messages import DOCUMENTS, document_key

DEFAULT, MURMUR2 = "consistent_random", "murmur2_random"
"""librdkafka's own partitioner (CRC32), and that of the Java clients."""
FLUSH_S = 30.0


class OtherProducer:
    """A client of librdkafka. Its metadata are as old as the client: it does not see partitions added later."""

    def __init__(self, address: KafkaAddress, partitioner: str = DEFAULT) -> None:
        self._address = address
        self._producer = Producer(
            {
                "bootstrap.servers": address.bootstrap,
                "partitioner": partitioner,
                "acks": "all",
                "topic.metadata.refresh.interval.ms": 3_600_000,
                "metadata.max.age.ms": 3_600_000,
                "linger.ms": 0,
            }
        )
        self._failed: list[str] = []
        self._appended_ms = 0

    def put(self, graph: str, doc_id: str, body: object | None, partition: int = -1) -> int:
        """Append a document to `documents`, None to delete it; return the broker's append time in milliseconds."""
        value = None if body is None else json.dumps(body).encode()
        self.append(DOCUMENTS, [(document_key(graph, doc_id), value)], partition)
        return self._appended_ms

    def append(self, topic: str, records: Iterable[tuple[str, bytes | None]], partition: int = -1) -> None:
        """Append in order; -1 leaves the partition to the partitioner."""
        for key, value in records:
            self._producer.produce(
                self._address.topic(topic),
                value,
                key.encode(),
                partition=partition,
                on_delivery=self._note,
            )
        assert self._producer.flush(FLUSH_S) == 0, "the broker did not acknowledge"
        assert not self._failed, self._failed

    def _note(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed.append(str(error))
        self._appended_ms = message.timestamp()[1]


def unread(address: KafkaAddress, topic: str, group: str) -> int:
    """Return how many records of the topic the group has not committed."""
    options = {"bootstrap.servers": address.bootstrap, "group.id": address.group(group), "enable.auto.commit": False}
    consumer = Consumer(options)
    try:
        name = address.topic(topic)
        partitions = consumer.list_topics(name, FLUSH_S).topics[name].partitions
        committed = consumer.committed([TopicPartition(name, number) for number in partitions], FLUSH_S)
        ends = [consumer.get_watermark_offsets(each, FLUSH_S)[1] for each in committed]
        return sum(max(0, end - max(0, each.offset)) for end, each in zip(ends, committed, strict=True))
    finally:
        consumer.close()
