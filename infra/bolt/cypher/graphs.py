"""Statements on the heads of graphs: generations, bindings to partitions, deletions, shadow builds.

`deleted_before` has an offset of `documents` for each partition, 0 for none. `documents` and `text_bytes` are the size
of the graph's content at `counted_version`; they are not known if a commit of an earlier release came since.
"""

from __future__ import annotations

HOLD_HEAD = (
    "MERGE (g:Graph {name: $graph}) ON CREATE SET g.scope = $first_scope, g.generations = 1, g.version = 0,"
    " g.documents = 0, g.text_bytes = 0, g.counted_version = 0"
    " SET g.lock = true REMOVE g.lock"
    " RETURN g.scope AS scope, g.version AS version, g.generations AS generations, g.next_community AS next_community,"
    " g.deleted_version AS deleted_version"
)
HOLD_KNOWN_HEAD = (
    "MATCH (g:Graph {name: $graph}) SET g.lock = true REMOVE g.lock"
    " RETURN g.scope AS scope, g.version AS version, g.generations AS generations, g.next_community AS next_community,"
    " g.deleted_version AS deleted_version"
)
READ_HEAD = (
    "MATCH (g:Graph {name: $graph})"
    " RETURN g.scope AS scope, g.version AS version, g.generations AS generations, g.next_community AS next_community,"
    " g.deleted_version AS deleted_version"
)
SET_HEAD = (
    "MATCH (g:Graph {name: $graph}) SET g.scope = $scope, g.version = $version, g.next_community = $next_community,"
    " g.documents = $documents, g.text_bytes = $text_bytes, g.counted_version = $version"
)
NEXT_VERSION = (
    "MERGE (g:Graph {name: $graph}) ON CREATE SET g.scope = $first_scope, g.generations = 1, g.version = 0,"
    " g.documents = 0, g.text_bytes = 0, g.counted_version = 0"
    " SET g.lock = true REMOVE g.lock"
    " WITH g WHERE g.version = $before AND coalesce(g.partition, $partition) = $partition"
    " SET g.version = $version, g.partition = $partition,"
    " g.documents = CASE WHEN g.counted_version = $before THEN g.documents + $documents END,"
    " g.text_bytes = CASE WHEN g.counted_version = $before THEN g.text_bytes + $text_bytes END,"
    " g.counted_version = $version, g.next_community ="
    " CASE WHEN coalesce(g.next_community, 1) < $next_community THEN $next_community"
    " WHEN $next_community IS NULL THEN g.next_community ELSE coalesce(g.next_community, 1) END"
    " RETURN g.scope AS scope"
)
BIND = (
    "MATCH (g:Graph {name: $graph}) SET g.lock = true REMOVE g.lock"
    " SET g.partition = coalesce(g.partition, $partition) RETURN g.partition AS partition"
)
BINDINGS = (
    "UNWIND $keys AS name MATCH (g:Graph {name: name}) WHERE g.partition IS NOT NULL"
    " RETURN g.name AS name, g.partition AS partition"
)
GRAPHS = (
    "MATCH (g:Graph) WHERE g.version > coalesce(g.deleted_version, 0)"
    " RETURN g.name AS name, g.version AS version ORDER BY name"
)
VERSION = "MATCH (g:Graph {name: $graph}) WHERE g.version > coalesce(g.deleted_version, 0) RETURN g.version AS version"
CONTENTS = (
    "MATCH (g:Graph) WHERE g.version > coalesce(g.deleted_version, 0) RETURN g.name AS name, g.version AS version,"
    " g.scope AS scope, CASE WHEN g.counted_version = g.version THEN g.documents END AS documents,"
    " CASE WHEN g.counted_version = g.version THEN g.text_bytes END AS text_bytes ORDER BY name"
)
READ_TEXTS = "MATCH (c:Chunk {scope: $scope}) WHERE c.text IS NOT NULL RETURN c.text AS text"
FILL_CONTENT = (
    "MATCH (g:Graph {name: $graph}) SET g.lock = true REMOVE g.lock"
    " WITH g WHERE g.version = $version AND g.scope = $scope"
    " SET g.documents = $documents, g.text_bytes = $text_bytes, g.counted_version = $version RETURN count(*) AS filled"
)
DELETIONS = (
    "UNWIND $keys AS name MATCH (g:Graph {name: name}) WHERE g.deleted_version IS NOT NULL"
    " RETURN g.name AS name, g.deleted_version AS version, g.deleted_before AS before, g.erased AS erased"
)
DELETE_GRAPH = (
    "MATCH (g:Graph {name: $graph}) SET g.scope = $scope, g.generations = $generation, g.version = $version,"
    " g.deleted_version = $version, g.deleted_before = $before, g.erased = false, g.documents = 0, g.text_bytes = 0,"
    " g.counted_version = $version REMOVE g.next_community"
)
NOTE_ERASED = "MATCH (g:Graph {name: $graph}) SET g.erased = true"
ERASE_STANDINGS = (
    "MATCH (s:Standing) WHERE s.key STARTS WITH $prefix WITH s LIMIT $limit DETACH DELETE s RETURN count(*) AS gone"
)
ERASE_VERDICTS = "MATCH (v:Verdict {graph: $graph}) WITH v LIMIT $limit DETACH DELETE v RETURN count(*) AS gone"
ERASE_REPORTS = "MATCH (r:Report {graph: $graph}) WITH r LIMIT $limit DETACH DELETE r RETURN count(*) AS gone"
ERASE_MEMOS = (
    "MATCH (m:Memo) WHERE m.key STARTS WITH $prefix WITH m LIMIT $limit DETACH DELETE m RETURN count(*) AS gone"
)
ERASE_QUESTIONS = (
    "MATCH (q:Question) WHERE q.key STARTS WITH $prefix WITH q LIMIT $limit DETACH DELETE q RETURN count(*) AS gone"
)
ERASE_QUESTION_EVENTS = (
    "MATCH (e:QuestionEvent) WHERE e.key STARTS WITH $prefix WITH e LIMIT $limit DETACH DELETE e"
    " RETURN count(*) AS gone"
)
COVERED_REVISIONS = (
    "MATCH (r:Revision) WHERE r.document STARTS WITH $prefix"
    " AND r.partition < size($before) AND r.position < $before[r.partition]"
    " RETURN r.place AS place, r.document AS document, r.state AS state LIMIT $limit"
)
ERASE_REVISIONS = "UNWIND $keys AS place MATCH (r:Revision {place: place}) DETACH DELETE r"
ERASE_SPENDING = "UNWIND $keys AS key MATCH (d:DocumentSpending {key: key}) DETACH DELETE d"
LOWER_TOTALS = (
    "UNWIND $rows AS row MATCH (t:Total {key: row.key}) SET t.lock = true REMOVE t.lock"
    " SET t.revisions = t.revisions - row.erased"
)
DELETED_GRAPHS = (
    "MATCH (g:Graph) WHERE g.deleted_version IS NOT NULL AND g.version <= g.deleted_version RETURN g.name AS name"
)
BEGIN_BUILD = (
    "MATCH (g:Graph {name: $graph}) SET g.generations = $generation"
    " CREATE (:Build {scope: $scope, graph: $graph, dead: false, touched_ms: $now_ms})"
)
TOUCH_BUILD = "MATCH (b:Build {scope: $scope}) WHERE NOT b.dead SET b.touched_ms = $now_ms RETURN count(*) AS found"
END_BUILD = "MATCH (b:Build {scope: $scope}) WHERE NOT b.dead DELETE b RETURN count(*) AS found"
LEAVE_SCOPE = "MERGE (b:Build {scope: $scope}) SET b.graph = $graph, b.dead = true"
LEFTOVERS = "MATCH (b:Build) WHERE b.dead OR b.touched_ms <= $before_ms RETURN b.scope AS scope ORDER BY scope"
FORGET_SCOPE = "MATCH (b:Build {scope: $scope}) DELETE b"
