"""Declaration of the topics: purpose, key, retention and maximum record size.

Backends of one process create a topic when it is first named; on a cluster, only `graphtide topics apply` creates the
topics declared here. Adding partitions maps keys to other ones, and is safe at any time: the revisions of a document
are ordered by their numbers (`streams/log/revisions.py`), and a graph stays with the partition of `extractions` that it
is bound to (`streams/consolidate/forwarding.py`); new graphs use the new partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphtide.streams.messages import ANSWERS, DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS, GRAPH_CHANGES

DAY_MS = 24 * 3600 * 1000
MIB = 1 << 20
FOR_EVER = -1


@dataclass(frozen=True, slots=True)
class Topic:
    """The declared state of a topic. `retention_ms` -1 disables deletion; `cleanup` is Kafka's cleanup.policy."""

    name: str
    key: str
    partitions: int
    retention_ms: int
    max_message_bytes: int
    why: str
    cleanup: str = "delete"
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, str]:
        """Return the topic's settings by their Kafka names. Timestamps are the broker's: producers are not trusted."""
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(self.retention_ms),
            "max.message.bytes": str(self.max_message_bytes),
            "message.timestamp.type": "LogAppendTime",
            **self.more,
        }


TOPICS = (
    Topic(DOCUMENTS, "graph|doc_id", 12, 7 * DAY_MS, 16 * MIB, "kept as long as an extraction may have to be redone"),
    Topic(EXTRACTIONS, "graph", 12, 7 * DAY_MS, 64 * MIB, "kept as long as consolidation may be behind"),
    Topic(
        DELTAS,
        "graph",
        12,
        DAY_MS,
        64 * MIB,
        "the history of graphs; a follower that is further behind loads a snapshot",
    ),
    Topic(
        ANSWERS,
        "graph|question id",
        12,
        FOR_EVER,
        16 * MIB,
        "the last change of the evidence of each standing question",
        "compact",
    ),
    Topic(
        GRAPH_CHANGES,
        "graph|element",
        12,
        FOR_EVER,
        16 * MIB,
        "the current nodes and relationships of each graph; a sink has a day to read a removal",
        "compact",
        {
            "min.compaction.lag.ms": str(DAY_MS),
            "max.compaction.lag.ms": str(2 * DAY_MS),
            "delete.retention.ms": str(DAY_MS),
        },
    ),
    Topic(
        DEAD_LETTERS, "graph|doc_id", 1, FOR_EVER, 96 * MIB, "the record of what failed; an original grows by a third"
    ),
)
BY_NAME = {topic.name: topic for topic in TOPICS}
LARGEST_BYTES = max(topic.max_message_bytes for topic in TOPICS)
