"""The topics, declared once: what they are for, how they are keyed, how long they keep, how large a record may be.

Backends of one process make topics as they are named; on a cluster `graphtide topics apply` makes what stands here and
nothing else ever does. Adding partitions moves keys to other ones, and is safe at any time: the revisions of a document
are ordered by their numbers (`streams/revisions.py`), and a graph stays with the partition of `extractions` that it is
bound to (`streams/consolidate/forwarding.py`); new graphs use the new partitions.
"""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.streams.messages import DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS

DAY_MS = 24 * 3600 * 1000
MIB = 1 << 20
FOR_EVER = -1


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it should be. `retention_ms` -1 keeps for ever; `cleanup` is Kafka's cleanup.policy."""

    name: str
    key: str
    partitions: int
    retention_ms: int
    max_message_bytes: int
    why: str
    cleanup: str = "delete"

    @property
    def settings(self) -> dict[str, str]:
        """The topic's settings by Kafka's names for them. Times are the broker's: producers' clocks prove nothing."""
        return {
            "cleanup.policy": self.cleanup,
            "retention.ms": str(self.retention_ms),
            "max.message.bytes": str(self.max_message_bytes),
            "message.timestamp.type": "LogAppendTime",
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
        "a follower that is further behind loads a snapshot",
    ),
    Topic(
        DEAD_LETTERS, "graph|doc_id", 1, FOR_EVER, 96 * MIB, "the record of what failed; an original grows by a third"
    ),
)
BY_NAME = {topic.name: topic for topic in TOPICS}
LARGEST_BYTES = max(topic.max_message_bytes for topic in TOPICS)
