"""Documents that another program writes to Kafka, without Graphtide's client, and a question to the cluster's gateway.

    docker compose up -d                   # Kafka, Memgraph, the workers, the gateway
    pip install confluent-kafka
    python examples/kafka_documents.py

prints

    Tor Ruud repaired the weather station on the ridge. [1]
    Ida Moreau repaired the weather station on the ridge. [1]
"""

from __future__ import annotations

import json
import os

from confluent_kafka import Message, Producer

import graphtide
import graphtide.sync

TOPIC = os.environ.get("GRAPHTIDE_KAFKA_PREFIX", "") + "documents"
GRAPH, QUESTION = "reports", "Who repaired the weather station?"


def write(producer: Producer, doc_id: str, document: dict[str, str] | None) -> str:
    """Write a revision of a document, or its deletion (None); return its token, which names the record's position."""
    tokens: list[str] = []

    def acknowledged(error: object, record: Message) -> None:
        if error:
            raise RuntimeError(f"the record was not written: {error}")
        tokens.append(f"{record.partition()}:{record.offset()}")

    value = None if document is None else json.dumps(document).encode()
    producer.produce(TOPIC, value, f"{GRAPH}|{doc_id}".encode(), on_delivery=acknowledged)
    producer.flush(60)
    return tokens[0]


broker = os.environ.get("GRAPHTIDE_KAFKA", "127.0.0.1:19092")
producer = Producer({"bootstrap.servers": broker, "acks": "all", "partitioner": "murmur2_random"})
url, key = os.environ.get("GRAPHTIDE_URL", "http://127.0.0.1:8080"), os.environ.get("GRAPHTIDE_API_KEY", "")
with graphtide.sync.connect(url, api_key=key) as db:
    reports = db.graph(GRAPH)
    for name in ("Tor Ruud", "Ida Moreau"):
        token = write(producer, "ridge", {"text": f"{name} repaired the weather station on the ridge."})
        print(reports.ask(QUESTION, after=token).answer)
