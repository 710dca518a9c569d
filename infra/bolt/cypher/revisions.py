"""Statements of the revision ledger.

`pending` and `waiting_since`, and their index entries, exist only while a revision is ACCEPTED. `place` (partition and
offset) identifies a revision; `key` contains its number, and is set once it has one. Until then `revision` is an
estimate, for LATEST.
"""

from __future__ import annotations

_MERGE_REVISION = (
    " MERGE (r:Revision {place: row.place})"
    " ON CREATE SET r.graph = row.graph, r.doc_id = row.doc_id, r.document = row.document,"
    " r.partition = row.partition, r.position = row.position, r.state = 'accepted', r.reason = '', r.attempts = 0,"
    " r.accepted_ms = row.accepted_ms, r.pending = row.graph, r.waiting_since = row.accepted_ms,"
    " r.revision = row.estimate"
)
_UNCOVERED = (
    " OPTIONAL MATCH (g:Graph {name: row.graph}) WITH row, g"
    " WHERE g.deleted_before IS NULL OR row.partition >= size(g.deleted_before)"
    " OR row.position >= g.deleted_before[row.partition] WITH row"
)
"""Leave out revisions that the deletion of their graph covers."""
ENTER = f"UNWIND $rows AS row{_UNCOVERED}{_MERGE_REVISION}"
NUMBER = (
    "UNWIND $rows AS p"
    " MERGE (c:RevisionClock {partition: p.partition}) ON CREATE SET c.time = 0, c.next_offset = 0"
    " SET c.lock = true REMOVE c.lock"
    " WITH c, p.rows AS rows, p.next_offset AS next_offset, c.time + 1 AS floor, c.next_offset AS passed"
    f" UNWIND rows AS row{_MERGE_REVISION}"
    " WITH c, next_offset, r, row, CASE WHEN r.key IS NOT NULL THEN 0"
    " WHEN row.position < passed THEN row.accepted"
    " WHEN row.latest > floor + row.repeat THEN row.latest ELSE floor + row.repeat END AS time"
    " FOREACH (one IN CASE WHEN time > 0 THEN [1] ELSE [] END |"
    " SET r.revision = time * $step + row.partition,"
    " r.key = row.prefix + toString(time * $step + row.partition) + row.suffix)"
    " WITH c, next_offset, max(time) AS reached, collect(r) AS numbered"
    " SET c.time = CASE WHEN reached > c.time THEN reached ELSE c.time END,"
    " c.next_offset = CASE WHEN next_offset > c.next_offset THEN next_offset ELSE c.next_offset END"
    " WITH numbered UNWIND numbered AS r OPTIONAL MATCH (g:Graph {name: r.graph})"
    " RETURN r.place AS place, r.document AS document, r.revision AS revision, g.deleted_before AS deleted_before"
)
"""Takes $rows of {partition, next_offset, rows}, by partition and offset (`streams/log/revisions.py`)."""
UNPLACED_REVISIONS = (
    "MATCH (r:Revision) WHERE r.place IS NULL"
    " RETURN r.key AS key, r.partition AS partition, r.position AS position LIMIT $limit"
)
PLACE_REVISIONS = (
    "UNWIND $rows AS row MATCH (r:Revision {key: row.key}) SET r.place = row.place, r.revision = r.position"
)
"""Revisions of schema 2 and older keep their offset as their number."""
CONCLUDE = (
    "UNWIND $rows AS row MATCH (r:Revision {key: row.key}) SET r.lock = true REMOVE r.lock"
    " WITH r, row WHERE r.state = 'accepted'"
    " SET r.state = row.state, r.reason = row.reason, r.ended_ms = $now_ms REMOVE r.pending, r.waiting_since"
    " WITH row.total AS total, r.graph AS graph, row.state AS state, count(*) AS ended ORDER BY total"
    " MERGE (t:Total {key: total}) ON CREATE SET t.graph = graph, t.state = state, t.revisions = 0"
    " SET t.lock = true REMOVE t.lock SET t.revisions = t.revisions + ended"
)
FORGET_REASONS = "UNWIND $keys AS key MATCH (r:Revision {document: key}) SET r.reason = ''"
READ_TOTALS = "MATCH (t:Total {graph: $graph}) RETURN t.state AS state, t.revisions AS revisions"
BEGIN_ATTEMPTS = (
    "UNWIND $keys AS key MATCH (r:Revision {key: key}) SET r.lock = true REMOVE r.lock SET r.attempts = r.attempts + 1"
    " RETURN key, r.attempts AS attempts"
)
SPARE_ATTEMPT = (
    "MATCH (r:Revision {key: $key}) SET r.lock = true REMOVE r.lock"
    " SET r.attempts = CASE WHEN r.attempts > 0 THEN r.attempts - 1 ELSE 0 END"
)
_ENTRY = (
    " RETURN r.graph AS graph, r.doc_id AS doc_id, r.partition AS partition, r.position AS position, r.state AS state,"
    " r.reason AS reason, r.attempts AS attempts, r.accepted_ms AS accepted_ms, r.ended_ms AS ended_ms,"
    " CASE WHEN r.key IS NULL THEN 0 ELSE coalesce(r.revision, r.position) END AS revision"
)
LATEST = (
    "MATCH (r:Revision {document: $document})"
    f" WITH r ORDER BY coalesce(r.revision, r.position) DESC, r.position DESC LIMIT 1{_ENTRY}"
)
LISTED_DOCUMENTS = (
    "MATCH (r:Revision) WHERE r.document STARTS WITH $prefix AND r.document > $after"
    " RETURN DISTINCT r.document AS document ORDER BY document LIMIT $limit"
)
REVISIONS_OF = (
    f"UNWIND $documents AS document MATCH (r:Revision {{document: document}}){_ENTRY},"
    " coalesce(r.revision, r.position) AS ordered_by"
)
UNFINISHED = (
    f"MATCH (r:Revision) WHERE r.waiting_since < $before_ms{_ENTRY}"
    " ORDER BY accepted_ms, partition, position LIMIT $limit"
)
PENDING = "MATCH (r:Revision {pending: $graph}) RETURN count(*) AS pending"
PENDING_COUNTS = (
    "MATCH (r:Revision) WHERE r.pending IS NOT NULL RETURN r.pending AS graph, count(*) AS pending ORDER BY graph"
)
OLDEST_PENDING = "MATCH (r:Revision {pending: $graph}) RETURN min(r.waiting_since) AS accepted_ms"
PENDING_UP_TO = (
    "MATCH (r:Revision {pending: $graph}) WHERE r.partition = $partition AND r.position <= $position"
    " RETURN count(*) AS pending"
)
REVISIONS_AT = (
    "UNWIND $places AS place MATCH (r:Revision {place: place}) WHERE r.graph = $graph"
    " RETURN r.place AS place, r.revision AS revision"
)
HAS_REVISIONS = (
    "UNWIND $places AS place MATCH (r:Revision {place: place}) WHERE r.graph = $graph RETURN count(*) AS held"
)
