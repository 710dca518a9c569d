"""Statements on a graph's rows beyond those of single tables: derived relationships, membership, removal."""

from __future__ import annotations

from graphtide.infra.bolt.cypher.tables import (
    CHUNK,
    COMMUNITY,
    DOCUMENT,
    ENTITY,
    LABEL,
    MENTIONS,
    RELATES,
    SAME_AS,
    STATEMENT,
    SUPPORTS,
)

CLEAR_HAS = "UNWIND $keys AS key MATCH (d:Document {key: key})-[r:HAS]->() DELETE r"
CREATE_HAS = (
    "UNWIND $rows AS row MATCH (d:Document {key: row.key}) UNWIND row.chunk_keys AS chunk"
    " MATCH (c:Chunk {key: chunk}) CREATE (d)-[:HAS]->(c)"
)
CLEAR_NAMES = "UNWIND $keys AS key MATCH (l:Label {key: key})-[r:NAMES]->() DELETE r"
CREATE_NAMES = (
    "UNWIND $rows AS row MATCH (l:Label {key: row.key}) MATCH (e:Entity {key: row.entity}) CREATE (l)-[:NAMES]->(e)"
)
CLEAR_ENDS = "UNWIND $keys AS key MATCH (s:Statement {key: key})-[r:SUBJECT|OBJECT]->() DELETE r"
CREATE_ENDS = (
    "UNWIND $rows AS row MATCH (s:Statement {key: row.key})"
    " MATCH (a:Label {key: row.subject_key}) MATCH (b:Label {key: row.object_key})"
    " CREATE (s)-[:SUBJECT]->(a) CREATE (s)-[:OBJECT]->(b)"
)
CLEAR_PARENTS = "UNWIND $keys AS key MATCH (c:Community {key: key})-[r:PART_OF]->() DELETE r"
CREATE_PARENTS = (
    "UNWIND $rows AS row MATCH (c:Community {key: row.key}) MATCH (p:Community {key: row.parent_key})"
    " CREATE (c)-[:PART_OF]->(p)"
)


UNASSIGN = (
    "UNWIND $keys AS key MATCH (e:Entity {key: key}) REMOVE e.community WITH e MATCH (e)-[r:MEMBER_OF]->() DELETE r"
)
JOIN = (
    "UNWIND $rows AS row MATCH (e:Entity {key: row.key}) MATCH (c:Community {key: row.community_key})"
    " SET e.community = row.community CREATE (e)-[:MEMBER_OF]->(c) RETURN count(*) AS made"
)
ASSIGN = "UNWIND $rows AS row MATCH (e:Entity {key: row.key}) SET e.community = row.community RETURN count(*) AS made"
CREATE_MEMBERS = (
    "UNWIND $rows AS row MATCH (e:Entity {key: row.key}) MATCH (c:Community {key: row.community_key})"
    " CREATE (e)-[:MEMBER_OF]->(c)"
)
READ_MEMBERS = (
    "MATCH (e:Entity {scope: $scope}) WHERE e.community IS NOT NULL RETURN e.number AS node, e.community AS community"
)
READ_OVERWRITTEN = " UNION ALL ".join(
    (
        DOCUMENT.read_keys("documents"),
        CHUNK.read_keys("chunks"),
        MENTIONS.read_keys("passages"),
        SUPPORTS.read_keys("passages"),
        STATEMENT.read_keys("statements"),
        SAME_AS.read_keys("same_as"),
        RELATES.read_keys("edges"),
        ENTITY.read_keys("entities"),
        COMMUNITY.read_keys("communities"),
        "UNWIND $named.members AS key MATCH (e:Entity {key: key}) WHERE e.community IS NOT NULL"
        " RETURN $member_kind AS kind, [e.number, e.community] AS row",
    )
)
"""The rows of one commit, of which $named has the keys by kind: one parameter, because Neo4j plans a statement anew for
lists of another length.
"""
READ_LABELS_OF_KEYS = LABEL.read_columns("number", "name", "type", "node", "mentions")
READ_ENTITIES_WITHOUT_VECTORS = ENTITY.read_columns("number", "name", "type", "labels", "mentions")
CLEAR_MEMBERS = "MATCH (e:Entity {scope: $scope}) WHERE e.community IS NOT NULL REMOVE e.community"
CLEAR_COMMUNITIES = "MATCH (c:Community {scope: $scope}) DETACH DELETE c"

# A community exists while an entity is in it: the property `community` keeps its node, not MEMBER_OF.
DELETE_FREE_ENTITIES = (
    "UNWIND $keys AS key MATCH (n:Entity {key: key}) WHERE n.community IS NULL OPTIONAL MATCH (n)-[r:RELATES]-()"
    " WITH n, count(r) AS held WHERE held = 0 DETACH DELETE n"
)
DELETE_FREE_LABELS = LABEL.delete_free("MENTIONS|SAME_AS")
DELETE_FREE_STATEMENTS = STATEMENT.delete_free("SUPPORTS")
VACATE_ENTITIES = ENTITY.vacate("NAMES")
VACATE_LABELS = LABEL.vacate("NAMES|SUBJECT|OBJECT")
VACATE_STATEMENTS = STATEMENT.vacate("SUBJECT|OBJECT")
