"""Every Cypher statement of Graphtide, and the layout that they make. No other module contains Cypher.

    (:Document)-[:HAS]->(:Chunk)-[:MENTIONS]->(:Label)-[:NAMES]->(:Entity)-[:RELATES]->(:Entity)
    (:Chunk)-[:SUPPORTS]->(:Statement)-[:SUBJECT|OBJECT]->(:Label)-[:SAME_AS]->(:Label)
    (:Entity)-[:MEMBER_OF]->(:Community)-[:PART_OF]->(:Community)<-[:ABOUT]-(:Report)

`(:Graph)` is a graph's head. Its `scope` (name/generation) is the valid generation of rows, so switching to a rebuilt
graph sets one property. Every node of a graph's rows has a `key` that begins with its scope, unique by constraint.

Rules of every statement: only parameters carry values; labels, types and properties are part of the text; repeated
values come as a list without duplicates, for UNWIND; on a document's path every MATCH begins at an index. Only what
both Neo4j 5 and Memgraph's openCypher accept is used (except the DDL, see DIALECTS). `SET x.lock = true REMOVE x.lock`
changes nothing but takes the write lock, so later reads of the transaction cannot be overtaken.

Mentions, support, edges and same-as are relationship rows. Their nodes outlive their own row while such a row needs
them (then only `key`, `scope` and `number` remain). HAS, NAMES, SUBJECT, OBJECT, MEMBER_OF and PART_OF are derived from
properties, for human readers and ad-hoc queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Dialect(StrEnum):
    """The server's DDL dialect; all other statements are the same."""

    NEO4J = "neo4j"
    MEMGRAPH = "memgraph"


@dataclass(frozen=True, slots=True)
class NodeTable:
    """A table whose rows are nodes. `columns[0]` is the row's own key; `columns[1]` is set in every row; `ties` are the
    columns from which relationships are derived.
    """

    label: str
    columns: tuple[str, ...]
    ties: tuple[str, ...] = ()

    @property
    def upsert(self) -> str:
        """Upsert $rows of {key, columns…} in $scope.

        A table with `ties` returns, by `key`, only the rows in which one of these columns changed or that are new;
        `was` tells whether the row existed. The derived relationships of the other rows exist already.
        """
        values = ", ".join(f"n.{column} = row.{column}" for column in self.columns)
        found = f"UNWIND $rows AS row MERGE (n:{self.label} {{key: row.key}})"
        if not self.ties:
            return f"{found} SET n.scope = $scope, {values}"
        moved = " OR ".join(f"n.{column} <> row.{column}" for column in self.ties)
        return (
            f"{found} WITH n, row, n.{self.ties[0]} IS NOT NULL AS was, coalesce({moved}, true) AS moved"
            f" SET n.scope = $scope, {values} WITH row, was, moved WHERE moved RETURN row.key AS key, was"
        )

    @property
    def read(self) -> str:
        """Return all rows of $scope."""
        values = ", ".join(f"n.{column} AS {column}" for column in self.columns)
        return f"MATCH (n:{self.label} {{scope: $scope}}) WHERE n.{self.columns[1]} IS NOT NULL RETURN {values}"

    @property
    def count(self) -> str:
        return f"MATCH (n:{self.label} {{scope: $scope}}) WHERE n.{self.columns[1]} IS NOT NULL RETURN count(*) AS rows"

    def read_keys(self, keys: str) -> str:
        """Return the rows of the keys in that entry of $named, each as its label and the list of its columns."""
        values = ", ".join(f"n.{column}" for column in self.columns)
        found = f"UNWIND $named.{keys} AS key MATCH (n:{self.label} {{key: key}}) WHERE n.{self.columns[1]} IS NOT NULL"
        return f"{found} RETURN labels(n)[0] AS kind, [{values}] AS row"

    def read_columns(self, *columns: str) -> str:
        """Return these columns of the rows of $keys."""
        values = ", ".join(f"n.{column} AS {column}" for column in columns)
        found = f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) WHERE n.{self.columns[1]} IS NOT NULL"
        return f"{found} RETURN {values}"

    @property
    def ensure(self) -> str:
        """Create missing nodes for $rows of {key, number}: relationships end at them, whether they have a row
        or not.
        """
        made = "ON CREATE SET n.scope = $scope, n.number = row.number"
        return f"UNWIND $rows AS row MERGE (n:{self.label} {{key: row.key}}) {made}"

    @property
    def delete(self) -> str:
        """Delete the nodes of $keys."""
        return f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) DETACH DELETE n"

    def delete_free(self, held_by: str) -> str:
        """Delete those nodes of $keys that have no relationship of the types `held_by`."""
        return (
            f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) OPTIONAL MATCH (n)-[r:{held_by}]-()"
            " WITH n, count(r) AS held WHERE held = 0 DETACH DELETE n"
        )

    def vacate(self, derived: str) -> str:
        """Remove the row from the nodes of $keys, and the relationships `derived` from it; keep the nodes."""
        gone = ", ".join(f"n.{column}" for column in self.columns[1:])
        return (
            f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) REMOVE {gone} WITH n"
            f" MATCH (n)-[r:{derived}]-() DELETE r"
        )

    @property
    def sweep(self) -> str:
        """Delete at most $limit nodes of $scope; return their number."""
        return f"MATCH (n:{self.label} {{scope: $scope}}) WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"


DOCUMENT = NodeTable(
    "Document", ("doc_id", "revision", "title", "source", "occurred_at", "metadata", "chunks"), ("chunks",)
)
CHUNK = NodeTable(
    "Chunk",
    ("number", "chunk_id", "doc_id", "ordinal", "text", "version", "vector", "title", "description", "place"),
    ("number",),
)
LABEL = NodeTable("Label", ("number", "name", "type", "node", "mentions", "vector_sum"), ("node",))
STATEMENT = NodeTable(
    "Statement",
    ("number", "predicate", "subject", "object", "count", "weight_milli", "weight", "version", "vector_sum", "vector"),
    ("subject", "object"),
)
ENTITY = NodeTable("Entity", ("number", "name", "type", "labels", "mentions", "version", "vector"))
COMMUNITY = NodeTable("Community", ("number", "level", "parent"), ("parent",))
NODE_TABLES = (DOCUMENT, CHUNK, LABEL, STATEMENT, ENTITY, COMMUNITY)


@dataclass(frozen=True, slots=True)
class PassageTable:
    """A table whose rows are relationships of a chunk, ordered by `place`; all rows of a chunk are replaced
    together.
    """

    type: str
    end: NodeTable
    end_column: str
    columns: tuple[str, ...]

    @property
    def create(self) -> str:
        """Create $rows of {chunk, passages: [{end, place, columns…}]}; return the number of rows whose nodes both
        exist.
        """
        values = ", ".join(f"{column}: row.{column}" for column in ("place", *self.columns))
        return (
            "UNWIND $rows AS one MATCH (c:Chunk {key: one.chunk})"
            f" UNWIND one.passages AS row MATCH (e:{self.end.label} {{key: row.end}})"
            f" CREATE (c)-[:{self.type} {{{values}}}]->(e) RETURN count(*) AS made"
        )

    @property
    def clear(self) -> str:
        """Delete all rows of the chunks of $keys."""
        return f"UNWIND $keys AS key MATCH (c:Chunk {{key: key}})-[r:{self.type}]->() DELETE r"

    @property
    def read(self) -> str:
        values = ", ".join(f"r.{column} AS {column}" for column in ("place", *self.columns))
        return (
            f"MATCH (c:Chunk {{scope: $scope}})-[r:{self.type}]->(e:{self.end.label})"
            f" RETURN c.number AS chunk, e.number AS {self.end_column}, {values}"
        )

    def read_keys(self, keys: str) -> str:
        """Return all rows of the chunks of the keys in that entry of $named, each as its type and its values."""
        values = ", ".join(f"r.{column}" for column in ("place", *self.columns))
        return (
            f"UNWIND $named.{keys} AS key MATCH (c:Chunk {{key: key}})-[r:{self.type}]->(e)"
            f" RETURN type(r) AS kind, [c.number, e.number, {values}] AS row"
        )

    @property
    def count(self) -> str:
        return f"MATCH (:Chunk {{scope: $scope}})-[r:{self.type}]->() RETURN count(*) AS rows"


MENTIONS = PassageTable("MENTIONS", LABEL, "label", ("name", "description", "count"))
SUPPORTS = PassageTable(
    "SUPPORTS",
    STATEMENT,
    "statement",
    ("description", "sentence", "weight_milli", "count", "valid_from", "valid_to"),
)


@dataclass(frozen=True, slots=True)
class PairTable:
    """A table whose rows are relationships between two nodes of one label, with a key of their own."""

    type: str
    end: NodeTable
    columns: tuple[str, ...]

    @property
    def update(self) -> str:
        """Update $rows of {key, columns…}; return the keys of the rows that exist."""
        values = ", ".join(f"r.{column} = row.{column}" for column in self.columns)
        return f"UNWIND $rows AS row MATCH ()-[r:{self.type} {{key: row.key}}]->() SET {values} RETURN row.key AS key"

    @property
    def create(self) -> str:
        """Create $rows of {key, a, b, columns…}, where `a` and `b` are keys; return the number of rows whose nodes both
        exist.
        """
        values = ", ".join(f"{column}: row.{column}" for column in ("key", *self.columns))
        label = self.end.label
        return (
            f"UNWIND $rows AS row MATCH (a:{label} {{key: row.a}}) MATCH (b:{label} {{key: row.b}})"
            f" CREATE (a)-[:{self.type} {{{values}}}]->(b) RETURN count(*) AS made"
        )

    @property
    def delete(self) -> str:
        """Delete the relationships of $keys."""
        return f"UNWIND $keys AS key MATCH ()-[r:{self.type} {{key: key}}]->() DELETE r"

    @property
    def read(self) -> str:
        values = ", ".join(f"r.{column} AS {column}" for column in self.columns)
        label = self.end.label
        return (
            f"MATCH (a:{label} {{scope: $scope}})-[r:{self.type}]->(b:{label})"
            f" RETURN a.number AS a, b.number AS b, {values}"
        )

    def read_keys(self, keys: str) -> str:
        """Return the rows of the keys in that entry of $named, each as its type and its values."""
        values = ", ".join(f"r.{column}" for column in self.columns)
        return (
            f"UNWIND $named.{keys} AS key MATCH (a)-[r:{self.type} {{key: key}}]->(b)"
            f" RETURN type(r) AS kind, [a.number, b.number, {values}] AS row"
        )

    @property
    def count(self) -> str:
        return f"MATCH (:{self.end.label} {{scope: $scope}})-[r:{self.type}]->() RETURN count(*) AS rows"


RELATES = PairTable("RELATES", ENTITY, ("weight", "trussness"))
SAME_AS = PairTable("SAME_AS", LABEL, ("rule", "score_milli"))

# -- derived relationships ---------------------------------------------------------------------------------------------

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

# -- membership: a property of the entity, with or without a row -------------------------------------------------------

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

# -- watermarks and the outbox -----------------------------------------------------------------------------------------

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

# -- heads and generations ---------------------------------------------------------------------------------------------

HOLD_HEAD = (
    "MERGE (g:Graph {name: $graph}) ON CREATE SET g.scope = $first_scope, g.generations = 1, g.version = 0"
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
    "MATCH (g:Graph {name: $graph}) SET g.scope = $scope, g.version = $version, g.next_community = $next_community"
)
NEXT_VERSION = (
    "MERGE (g:Graph {name: $graph}) ON CREATE SET g.scope = $first_scope, g.generations = 1, g.version = 0"
    " SET g.lock = true REMOVE g.lock"
    " WITH g WHERE g.version = $before AND coalesce(g.partition, $partition) = $partition"
    " SET g.version = $version, g.partition = $partition, g.next_community ="
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

# -- deletions: `deleted_before` has an offset of `documents` for each partition, 0 for none ---------------------------

DELETIONS = (
    "UNWIND $keys AS name MATCH (g:Graph {name: name}) WHERE g.deleted_version IS NOT NULL"
    " RETURN g.name AS name, g.deleted_version AS version, g.deleted_before AS before, g.erased AS erased"
)
DELETE_GRAPH = (
    "MATCH (g:Graph {name: $graph}) SET g.scope = $scope, g.generations = $generation, g.version = $version,"
    " g.deleted_version = $version, g.deleted_before = $before, g.erased = false REMOVE g.next_community"
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

# -- stored documents, verdicts, reports -------------------------------------------------------------------------------

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

# -- the ledger: `pending` and `waiting_since`, and their index entries, exist only while a revision is ACCEPTED ------
# `place` (partition and offset) identifies a revision; `key` contains its number, and is set once it has one.
# Until then `revision` is an estimate, for LATEST.

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

# -- memoised model answers --------------------------------------------------------------------------------------------

GET_MEMOS = "UNWIND $keys AS key MATCH (m:Memo {key: key}) RETURN m.key AS key, m.value AS value, m.slot AS slot"
HOLD_MEMO_TABLE = (
    "MERGE (t:MemoTable {name: $table}) ON CREATE SET t.newest = 0"
    " SET t.lock = true REMOVE t.lock SET t.newest = t.newest + $taken RETURN t.newest AS newest"
)
READ_MEMO_TABLE = "MATCH (t:MemoTable {name: $table}) RETURN t.newest AS newest"
PUT_MEMOS = "UNWIND $rows AS row MERGE (m:Memo {key: row.key}) SET m.value = row.value, m.slot = row.slot"
RENEW_MEMOS = "UNWIND $rows AS row MATCH (m:Memo {key: row.key}) SET m.slot = row.slot"
FIND_MEMOS = (
    "MATCH (m:Memo) WHERE m.key STARTS WITH $table AND (m.key STARTS WITH $scope OR size(m.key) <> $length)"
    " RETURN m.key AS key"
)
DELETE_MEMOS = "UNWIND $keys AS key MATCH (m:Memo {key: key}) DELETE m"
FORGET_MEMOS = "MATCH (m:Memo) WHERE m.slot >= $first AND m.slot <= $last DELETE m"

# -- the usage ledger: an account is one graph's day; every write to it happens under its lock -------------------------

CLAIM_BOOKS_EPOCH = (
    "MERGE (c:Counter {name: $name}) ON CREATE SET c.newest = 0"
    " SET c.lock = true REMOVE c.lock SET c.newest = c.newest + 1 RETURN c.newest AS epoch"
)
TOUCH_BOOKS_WORKER = "MERGE (w:BooksWorker {epoch: $epoch}) SET w.touched_ms = $now_ms"
DEAD_BOOKS_WORKERS = "MATCH (w:BooksWorker) WHERE w.touched_ms <= $before_ms RETURN w.epoch AS epoch"
HOLD_DEAD_BOOKS_WORKER = (
    "MATCH (w:BooksWorker {epoch: $epoch}) SET w.lock = true REMOVE w.lock"
    " WITH w WHERE w.touched_ms <= $before_ms RETURN w.epoch AS epoch"
)
COUNT_CALLS = (
    "MATCH (w:BooksWorker {epoch: $epoch}) SET w.language = coalesce(w.language, 0) + $language,"
    " w.embedding = coalesce(w.embedding, 0) + $embedding"
)
READ_CALLS = (
    "MATCH (w:BooksWorker) RETURN w.epoch AS epoch, coalesce(w.language, 0) AS language,"
    " coalesce(w.embedding, 0) AS embedding"
)
FORGET_BOOKS_WORKER = "MATCH (w:BooksWorker {epoch: $epoch}) DELETE w"
RESERVE = (
    "UNWIND $rows AS row"
    " MERGE (w:BooksWorker {epoch: row.worker}) ON CREATE SET w.touched_ms = row.now_ms"
    " MERGE (a:Account {key: row.account})"
    " ON CREATE SET a.settled_tokens = 0, a.settled_cost = 0, a.open_tokens = 0, a.open_cost = 0"
    " SET a.lock = true REMOVE a.lock"
    " WITH a, row OPTIONAL MATCH (held:OpenCall {key: row.key})"
    " WITH a, row, held IS NOT NULL AS known,"
    " (row.most_tokens = 0 OR row.tokens = 0"
    " OR a.settled_tokens + a.open_tokens + row.tokens <= row.most_tokens)"
    " AND (row.most_cost = 0 OR row.cost_nano = 0"
    " OR a.settled_cost + a.open_cost + row.cost_nano <= row.most_cost) AS fits"
    " FOREACH (one IN CASE WHEN fits AND NOT known THEN [1] ELSE [] END |"
    " SET a.open_tokens = a.open_tokens + row.tokens, a.open_cost = a.open_cost + row.cost_nano"
    " CREATE (:OpenCall {key: row.key, worker: row.worker, account: row.account, spending: row.spending,"
    " document: row.document, graph: row.graph, stage: row.stage, tokens: row.tokens, counted: row.counted,"
    " calls: row.calls, prompt_tokens: row.prompt_tokens, completion_tokens: row.completion_tokens,"
    " cost_nano: row.cost_nano}))"
    " RETURN known OR fits AS granted, a.settled_tokens AS settled_tokens, a.settled_cost AS settled_cost,"
    " a.open_tokens AS open_tokens, a.open_cost AS open_cost"
)
SETTLE = (
    "UNWIND $rows AS row MATCH (found:OpenCall {key: row.key}) MATCH (a:Account {key: found.account})"
    " SET a.lock = true REMOVE a.lock"
    " WITH a, row MATCH (o:OpenCall {key: row.key})"
    " SET a.open_tokens = a.open_tokens - o.tokens, a.open_cost = a.open_cost - o.cost_nano,"
    " a.settled_tokens = a.settled_tokens + o.counted * (row.prompt_tokens + row.completion_tokens),"
    " a.settled_cost = a.settled_cost + row.cost_nano"
    " MERGE (s:Spending {key: o.spending})"
    " ON CREATE SET s.account = o.account, s.graph = o.graph, s.stage = o.stage,"
    " s.calls = 0, s.prompt_tokens = 0, s.completion_tokens = 0, s.cost_nano = 0"
    " SET s.calls = s.calls + row.calls, s.prompt_tokens = s.prompt_tokens + row.prompt_tokens,"
    " s.completion_tokens = s.completion_tokens + row.completion_tokens, s.cost_nano = s.cost_nano + row.cost_nano"
    " FOREACH (document IN CASE WHEN o.document = '' THEN [] ELSE [o.document] END |"
    " MERGE (d:DocumentSpending {key: document})"
    " ON CREATE SET d.calls = 0, d.prompt_tokens = 0, d.completion_tokens = 0, d.cost_nano = 0"
    " SET d.lock = true REMOVE d.lock SET d.calls = d.calls + o.counted * row.calls,"
    " d.prompt_tokens = d.prompt_tokens + o.counted * row.prompt_tokens,"
    " d.completion_tokens = d.completion_tokens + o.counted * row.completion_tokens,"
    " d.cost_nano = d.cost_nano + row.cost_nano)"
    " DELETE o"
)
_SPENT = (
    " AS stage, x.calls AS calls, x.prompt_tokens AS prompt_tokens, x.completion_tokens AS completion_tokens,"
    " x.cost_nano AS cost_nano"
)
OPEN_CALLS_OF = f"MATCH (x:OpenCall {{worker: $epoch}}) RETURN x.key AS key, x.stage{_SPENT}"
LOCK_ACCOUNT = "MATCH (a:Account {key: $account}) SET a.lock = true REMOVE a.lock"
SPENT_ON_DAY = f"MATCH (x:Spending {{account: $account}}) RETURN x.stage{_SPENT}"
OPEN_ON_DAY = f"MATCH (x:OpenCall {{account: $account}}) RETURN x.stage{_SPENT}"
SPENT_BY_GRAPH = f"MATCH (x:Spending {{graph: $graph}}) RETURN x.stage{_SPENT}"
SPENT_ON_DOCUMENT = f"MATCH (x:DocumentSpending {{key: $document}}) RETURN ''{_SPENT}"

# -- schema: sent by gqlalchemy, once, outside any transaction ---------------------------------------------------------

READ_SCHEMA = "MATCH (s:Schema {name: 'graphtide'}) RETURN s.version AS version, s.restoring AS restoring"
BEGIN_RESTORE = "MERGE (s:Schema {name: 'graphtide'}) SET s.restoring = true"
END_RESTORE = "MATCH (s:Schema {name: 'graphtide'}) SET s.version = $version REMOVE s.restoring"
PUT_SCHEMA = "MERGE (s:Schema {name: 'graphtide'}) SET s.version = $version"
STORAGE_INFO = "SHOW STORAGE INFO"

# -- standing questions: QuestionStore ---------------------------------------------------------------------------------

_QUESTION = (
    " q.id AS id, q.definition AS definition, q.version AS version, q.changed_ms AS changed_ms, q.seq AS seq,"
    " q.evidence AS evidence, q.answer AS answer, q.answer_seq AS answer_seq"
)
_EVENT = (
    " e.graph AS graph, e.id AS id, e.seq AS seq, e.version AS version, e.occurred_ms AS occurred_ms, e.body AS body,"
    " CASE WHEN q.answer_seq = e.seq THEN q.answer ELSE '' END AS answer, e.answer_due AS answer_due"
)
LOCK_QUESTIONS = "UNWIND $keys AS key MATCH (q:Question {key: key}) SET q.lock = true REMOVE q.lock RETURN" + _QUESTION
GET_QUESTION = "MATCH (q:Question {key: $key}) RETURN" + _QUESTION
LIST_QUESTIONS = (
    "MATCH (q:Question) WHERE q.key STARTS WITH $prefix AND q.key > $after RETURN"
    + _QUESTION
    + " ORDER BY q.key LIMIT $limit"
)
COUNT_OF_QUESTIONS = "MATCH (q:Question) WHERE q.key STARTS WITH $prefix AND q.key > $prefix RETURN count(q) AS total"
GRAPHS_WITH_QUESTIONS = "MATCH (q:Question) WHERE q.graph > '' RETURN DISTINCT q.graph AS graph ORDER BY graph"
PUT_QUESTION = (
    "MERGE (q:Question {key: $key}) SET q.graph = $graph, q.id = $id, q.definition = $definition, q.version = 0,"
    " q.evidence = $evidence, q.answer = '', q.answer_seq = 0, q.seq = coalesce(q.seq, 0),"
    " q.changed_ms = coalesce(q.changed_ms, 0) RETURN" + _QUESTION
)
DELETE_QUESTION = "OPTIONAL MATCH (q:Question {key: $key}) DETACH DELETE q RETURN count(q) AS deleted"
SET_EVIDENCE = (
    "UNWIND $rows AS row MATCH (q:Question {key: row.key}) SET q.version = row.version, q.changed_ms = row.changed_ms,"
    " q.seq = row.seq, q.evidence = row.evidence, q.answer = ''"
)
ADD_EVENTS = (
    "UNWIND $rows AS row MERGE (e:QuestionEvent {key: row.key}) SET e.question = row.question, e.graph = row.graph,"
    " e.id = row.id, e.seq = row.seq, e.version = row.version, e.occurred_ms = row.occurred_ms, e.body = row.body,"
    " e.answer_due = row.answer_due, e.unsent = true"
)
DELETE_EVENT = "UNWIND $keys AS key MATCH (e:QuestionEvent {key: key}) DETACH DELETE e"
DELETE_EVENTS = "MATCH (e:QuestionEvent) WHERE e.key STARTS WITH $prefix DETACH DELETE e"
END_ANSWERS = "MATCH (e:QuestionEvent) WHERE e.key STARTS WITH $prefix AND e.answer_due = true SET e.answer_due = false"
READ_EVENTS = (
    "MATCH (q:Question {key: $question}) MATCH (e:QuestionEvent) WHERE e.key STARTS WITH $prefix AND e.key > $after"
    " RETURN" + _EVENT + " ORDER BY e.key LIMIT $limit"
)
DUE_ANSWERS = (
    "MATCH (e:QuestionEvent {answer_due: true}) WHERE e.graph = $graph MATCH (q:Question {key: e.question})"
    " RETURN" + _EVENT + " ORDER BY e.key"
)
PUT_ANSWER = (
    "MATCH (e:QuestionEvent {key: $event}) WHERE e.answer_due = true MATCH (q:Question {key: $key})"
    " SET e.answer_due = false SET q.answer = CASE WHEN q.seq = $seq THEN $answer ELSE q.answer END,"
    " q.answer_seq = CASE WHEN q.seq = $seq THEN $seq ELSE q.answer_seq END"
)
COUNT_QUESTIONS = (
    "MERGE (c:Counter {name: $name}) SET c.lock = true REMOVE c.lock SET c.value = coalesce(c.value, 0) + 1"
)
QUESTION_COUNTS = "MATCH (c:Counter) WHERE c.name STARTS WITH $prefix RETURN c.name AS name, c.value AS value"
READ_COUNTER = "MATCH (c:Counter {name: $name}) RETURN c.value AS value"
RAISE_COUNTERS = (
    "UNWIND $rows AS row MERGE (c:Counter {name: row.name})"
    " SET c.value = CASE WHEN coalesce(c.value, 0) < row.value THEN row.value ELSE c.value END"
)
UNSENT_EVENTS = (
    "MATCH (e:QuestionEvent {unsent: true}) WHERE e.answer_due = false MATCH (q:Question {key: e.question})"
    " RETURN" + _EVENT + " ORDER BY e.key LIMIT $limit"
)
MARK_EVENTS_SENT = "UNWIND $keys AS key MATCH (e:QuestionEvent {key: key}) REMOVE e.unsent"


UNIQUE = (
    *((table.label, "key") for table in NODE_TABLES),
    ("Watermark", "partition"),
    ("Notice", "key"),
    ("Graph", "name"),
    ("Build", "scope"),
    ("Standing", "key"),
    ("Verdict", "key"),
    ("Report", "key"),
    ("Revision", "key"),
    ("Revision", "place"),
    ("RevisionClock", "partition"),
    ("Total", "key"),
    ("Memo", "key"),
    ("MemoTable", "name"),
    ("Counter", "name"),
    ("BooksWorker", "epoch"),
    ("Account", "key"),
    ("Spending", "key"),
    ("OpenCall", "key"),
    ("DocumentSpending", "key"),
    ("Schema", "name"),
    ("Question", "key"),
    ("QuestionEvent", "key"),
)
"""Labels with one node per value of the property. Memgraph's constraint creates no index."""

INDEXED = (
    *((table.label, "scope") for table in NODE_TABLES),
    ("Entity", "name"),
    ("Document", "doc_id"),
    ("Chunk", "chunk_id"),
    ("Standing", "live"),
    ("Verdict", "graph"),
    ("Report", "graph"),
    ("Revision", "document"),
    ("Revision", "pending"),
    ("Revision", "waiting_since"),
    ("Total", "graph"),
    ("Memo", "slot"),
    ("BooksWorker", "touched_ms"),
    ("OpenCall", "worker"),
    ("OpenCall", "account"),
    ("Spending", "account"),
    ("Spending", "graph"),
    ("Question", "graph"),
    ("QuestionEvent", "answer_due"),
    ("QuestionEvent", "unsent"),
)
"""Entity(name), Document(doc_id) and Chunk(chunk_id) are for human readers."""

INDEXED_RELATIONSHIPS = (("RELATES", "key"), ("SAME_AS", "key"))


def schema(dialect: Dialect) -> tuple[str, ...]:
    """Return the DDL. Neo4j ignores what exists; Memgraph does so for indexes, and reports an error for constraints."""
    if dialect is Dialect.NEO4J:
        return (
            *(
                f"CREATE CONSTRAINT {label.lower()}_{name} IF NOT EXISTS FOR (x:{label}) REQUIRE x.{name} IS UNIQUE"
                for label, name in UNIQUE
            ),
            *(
                f"CREATE INDEX {label.lower()}_{name} IF NOT EXISTS FOR (x:{label}) ON (x.{name})"
                for label, name in INDEXED
            ),
            *(
                f"CREATE CONSTRAINT {type_.lower()}_{name} IF NOT EXISTS"
                f" FOR ()-[x:{type_}]-() REQUIRE x.{name} IS UNIQUE"
                for type_, name in INDEXED_RELATIONSHIPS
            ),
            "CALL db.awaitIndexes(300)",
        )
    return (
        *(f"CREATE CONSTRAINT ON (x:{label}) ASSERT x.{name} IS UNIQUE" for label, name in UNIQUE),
        *(f"CREATE INDEX ON :{label}({name})" for label, name in (*UNIQUE, *INDEXED)),
        *(f"CREATE EDGE INDEX ON :{type_}({name})" for type_, name in INDEXED_RELATIONSHIPS),
    )


# -- the whole database: for backup and restore, which read and write every node and relationship ----------------------


def hold_all() -> tuple[str, str]:
    """Lock every watermark, then every head, for writing: no commit happens until the transaction ends."""
    return (
        "MATCH (w:Watermark) WITH w ORDER BY w.partition SET w.lock = true REMOVE w.lock"
        " RETURN w.partition AS partition, w.next_offset AS next_offset",
        "MATCH (g:Graph) WITH g ORDER BY g.name SET g.lock = true REMOVE g.lock RETURN g.name AS name",
    )


def every_node() -> str:
    """Return all nodes except the schema and memo rows; rows of memo tables whose keys begin with $kept are
    included.
    """
    return (
        "MATCH (n) WHERE NOT n:Schema AND (NOT n:Memo OR n.key STARTS WITH $kept)"
        " RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties"
    )


def every_relationship() -> str:
    return "MATCH (a)-[r]->(b) RETURN id(a) AS a, id(b) AS b, type(r) AS type, properties(r) AS properties"


def restored_index(dialect: Dialect, drop: bool) -> str:
    """Create or drop the index by which relationships find the nodes that are being restored."""
    if dialect is Dialect.MEMGRAPH:
        return f"{'DROP' if drop else 'CREATE'} INDEX ON :Restored(restored)"
    if drop:
        return "DROP INDEX restored IF EXISTS"
    return "CREATE INDEX restored IF NOT EXISTS FOR (n:Restored) ON (n.restored)"


def restore_nodes(label: str) -> str:
    """Create $rows of {id, properties} as nodes of a known label, marked until the restore is done."""
    return f"UNWIND $rows AS row CREATE (n:{label}:Restored) SET n = row.properties, n.restored = row.id"


def restore_relationships(type_: str) -> str:
    """Create $rows of {a, b, properties}, where `a` and `b` are ids of restored nodes; return the number created."""
    return (
        "UNWIND $rows AS row MATCH (a:Restored {restored: row.a}) MATCH (b:Restored {restored: row.b})"
        f" CREATE (a)-[r:{type_}]->(b) SET r = row.properties RETURN count(*) AS made"
    )


def end_restore() -> str:
    """Remove the marks from at most $limit nodes; return their number."""
    return "MATCH (n:Restored) WITH n LIMIT $limit REMOVE n:Restored, n.restored RETURN count(*) AS found"


def clear_all() -> str:
    """Delete at most $limit nodes, except the schema; return their number."""
    return "MATCH (n) WHERE NOT n:Schema WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS found"


def any_node() -> str:
    return "MATCH (n) WHERE NOT n:Schema WITH n LIMIT 1 RETURN count(*) AS found"


def statements() -> dict[str, str]:
    """Return every statement by name, except the DDL: for tests, and for checks against another server's grammar."""
    constants = {name: text for name, text in globals().items() if name.isupper() and isinstance(text, str)}
    found = {name.lower(): text for name, text in constants.items() if not name.startswith("_")}
    tables: tuple[NodeTable | PassageTable | PairTable, ...] = (*NODE_TABLES, MENTIONS, SUPPORTS, RELATES, SAME_AS)
    for table in tables:
        named = table.label if isinstance(table, NodeTable) else table.type
        for action in ("upsert", "ensure", "update", "create", "clear", "delete", "read", "count", "sweep"):
            if (text := getattr(table, action, None)) is not None:
                found[f"{action} {named}"] = text
    return found


FEW_NODES = frozenset({"graphs", "deleted_graphs", "leftovers", "read_calls", "unplaced_revisions"})
"""Statements that read every node of a label with at most one node per graph or process.

`unplaced_revisions` reads all revisions, and is sent only when a schema is upgraded.
"""
