"""Statements on a partition's watermark and its outbox of notices."""

from __future__ import annotations

CLAIM = (
    "MERGE (w:Watermark {partition: $partition})"
    " ON CREATE SET w.epoch = 0, w.next_offset = 0, w.notices = 0"
    " SET w.lock = true REMOVE w.lock SET w.epoch = w.epoch + 1"
    " RETURN w.epoch AS epoch, w.next_offset AS next_offset"
)
HOLD_WATERMARK = (
    "MATCH (w:Watermark {partition: $partition}) SET w.lock = true REMOVE w.lock"
    " RETURN w.epoch AS epoch, w.next_offset AS next_offset, w.notices AS notices, w.last_commit AS last_commit"
)
ADVANCE = (
    "MATCH (w:Watermark {partition: $partition}) SET w.lock = true REMOVE w.lock"
    " WITH w WHERE w.epoch = $epoch AND w.next_offset = $held_offset"
    " SET w.next_offset = $next_offset, w.notices = w.notices + $announced, w.last_commit = $last_commit"
    " RETURN w.notices AS notices"
)
PUT_NOTICES = (
    "OPTIONAL MATCH (old:Notice) WHERE old.key >= $first AND old.key <= $last DELETE old WITH count(*) AS deleted"
    " UNWIND $rows AS row CREATE (:Notice {key: row.key, partition: $partition, sequence: row.sequence,"
    " record_key: row.record_key, value: row.value, headers: row.headers})"
)
WAITING = (
    "MATCH (n:Notice) WHERE n.key >= $first AND n.key <= $last"
    " RETURN n.sequence AS sequence, n.record_key AS record_key, n.value AS value, n.headers AS headers"
    " ORDER BY n.key LIMIT $limit"
)
SENT = "MATCH (n:Notice) WHERE n.key >= $first AND n.key <= $last DELETE n"
