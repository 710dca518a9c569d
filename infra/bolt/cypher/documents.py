"""Statements on stored documents, verdicts of the judge, and reports of communities."""

from __future__ import annotations

PUT_STANDINGS = (
    "UNWIND $rows AS row MERGE (s:Standing {key: row.key})"
    " SET s.graph = $graph, s.live = row.live, s.doc_id = row.doc_id, s.revision = row.revision,"
    " s.extraction = row.extraction"
)
READ_STANDINGS = (
    "UNWIND $keys AS key MATCH (s:Standing {key: key})"
    " RETURN s.doc_id AS doc_id, s.revision AS revision, s.extraction AS extraction"
)
LIVE_DOCUMENTS = "MATCH (s:Standing {live: $graph}) RETURN s.doc_id AS doc_id"
PUT_VERDICTS = (
    "UNWIND $rows AS row MERGE (v:Verdict {key: row.key})"
    " SET v.graph = $graph, v.a_name = row.a_name, v.a_type = row.a_type, v.b_name = row.b_name,"
    " v.b_type = row.b_type, v.same = row.same"
)
READ_VERDICTS = (
    "MATCH (v:Verdict {graph: $graph}) RETURN v.a_name AS a_name, v.a_type AS a_type,"
    " v.b_name AS b_name, v.b_type AS b_type, v.same AS same"
)
END_ALL_PREDICATE_LINKS = (
    "MATCH (v:Verdict {graph: $graph}) WHERE v.a_type = $type AND v.same > 0 AND v.same % 2 = 1"
    " SET v.same = -1 - v.same"
)
END_PREDICATE_LINKS = "UNWIND $keys AS key MATCH (v:Verdict {key: key}) WHERE v.same >= 0 SET v.same = -1 - v.same"
BEGIN_PREDICATE_LINKS = "UNWIND $keys AS key MATCH (v:Verdict {key: key}) WHERE v.same < 0 SET v.same = -1 - v.same"
READ_PREDICATE_LINKS = (
    "MATCH (v:Verdict {graph: $graph}) WHERE v.a_type = $type AND v.same > 0 AND v.same % 2 = 1"
    " RETURN v.a_name AS a, v.b_name AS b"
)
"""A negative verdict on predicates is one whose link does not hold (graph/resolution/predicates/pairs.py)."""
DELETE_VERDICTS = "UNWIND $keys AS key MATCH (v:Verdict {key: key}) DELETE v"
PUT_REPORTS = (
    "UNWIND $rows AS row MERGE (r:Report {key: row.key})"
    " SET r.graph = $graph, r.community = row.community, r.level = row.level, r.fingerprint = row.fingerprint,"
    " r.version = row.version, r.title = row.title, r.summary = row.summary, r.sources = row.sources,"
    " r.findings = row.findings, r.rating = row.rating"
)
LINK_REPORTS = (
    "UNWIND $rows AS row MATCH (r:Report {key: row.key}) MATCH (c:Community {key: row.community_key})"
    " MERGE (r)-[:ABOUT]->(c)"
)
DELETE_REPORTS = "UNWIND $keys AS key MATCH (r:Report {key: key}) DETACH DELETE r"
CLEAR_REPORTS = "MATCH (r:Report {graph: $graph}) DETACH DELETE r"
READ_REPORTS = (
    "MATCH (r:Report {graph: $graph}) RETURN r.community AS community, r.level AS level, r.fingerprint AS fingerprint,"
    " r.version AS version, r.title AS title, r.summary AS summary, r.sources AS sources,"
    " r.findings AS findings, r.rating AS rating ORDER BY community"
)
