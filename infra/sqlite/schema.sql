-- graphtide.sqlite, schema 6: the log, the ledger and the graphs of one data folder.
--
-- A graph's name is stored once, in `graphs`; elsewhere `graph` is its number. Rows that carry vectors are keyed by
-- one integer, graph << 32 | id, because that is a plain B-tree of whole rows; `graph` and the id can be read from it
-- as columns. Vectors are rows of little-endian float16; `vector_sum` is what graph/vector_sum.py writes.

CREATE TABLE schema_version (version INTEGER NOT NULL);

-- The log -----------------------------------------------------------------------------------------------------------

CREATE TABLE topics (
    topic       INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    next_offset INTEGER NOT NULL DEFAULT 0      -- lasts beyond the records, so that no offset is used twice
);

CREATE TABLE records (
    key         INTEGER PRIMARY KEY,            -- topic << 48 | position
    appended_ms INTEGER NOT NULL,
    record_key  TEXT    NOT NULL,
    headers     TEXT,                           -- JSON [[name, base64], ...]; NULL for none
    value       BLOB,                           -- NULL is a tombstone
    topic       INTEGER AS (key >> 48),         -- generated columns come last: values are written in slices
    position    INTEGER AS (key & 281474976710655)
);

CREATE TABLE consumer_positions (
    topic          INTEGER NOT NULL,
    consumer_group TEXT    NOT NULL,
    next_offset    INTEGER NOT NULL,
    PRIMARY KEY (topic, consumer_group)
) WITHOUT ROWID;

-- The ledger --------------------------------------------------------------------------------------------------------

CREATE TABLE revisions (
    revision    INTEGER PRIMARY KEY,            -- its offset in the topic `documents`
    graph       INTEGER NOT NULL,
    doc_id      TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    reason      TEXT    NOT NULL DEFAULT '',
    attempts    INTEGER NOT NULL DEFAULT 0,
    accepted_ms INTEGER NOT NULL,
    ended_ms    INTEGER
);
CREATE INDEX revisions_by_document ON revisions (graph, doc_id);
CREATE INDEX revisions_pending ON revisions (graph, revision) WHERE state = 'accepted';
CREATE INDEX revisions_unfinished ON revisions (accepted_ms, revision) WHERE state = 'accepted';

CREATE TABLE revision_totals (
    graph     INTEGER NOT NULL,
    state     TEXT    NOT NULL,
    revisions INTEGER NOT NULL,
    PRIMARY KEY (graph, state)
) WITHOUT ROWID;

CREATE TRIGGER revision_enters AFTER INSERT ON revisions BEGIN
    INSERT INTO revision_totals VALUES (NEW.graph, NEW.state, 1)
        ON CONFLICT DO UPDATE SET revisions = revisions + 1;
END;
CREATE TRIGGER revision_ends AFTER UPDATE OF state ON revisions WHEN OLD.state <> NEW.state BEGIN
    UPDATE revision_totals SET revisions = revisions - 1 WHERE graph = OLD.graph AND state = OLD.state;
    INSERT INTO revision_totals VALUES (NEW.graph, NEW.state, 1)
        ON CONFLICT DO UPDATE SET revisions = revisions + 1;
END;
CREATE TRIGGER revision_moves AFTER UPDATE OF graph ON revisions BEGIN
    UPDATE revision_totals SET revisions = revisions - 1 WHERE graph = OLD.graph AND state = OLD.state;
    INSERT INTO revision_totals VALUES (NEW.graph, NEW.state, 1)
        ON CONFLICT DO UPDATE SET revisions = revisions + 1;
END;

-- The graphs --------------------------------------------------------------------------------------------------------

CREATE TABLE watermarks (
    partition   INTEGER PRIMARY KEY,
    epoch       INTEGER NOT NULL,
    next_offset INTEGER NOT NULL
);

CREATE TABLE graphs (
    graph          INTEGER PRIMARY KEY,
    name           TEXT NOT NULL UNIQUE,
    version        INTEGER,                     -- NULL until its first commit
    next_community INTEGER                      -- NULL until its first communities
);

CREATE TABLE deletions (                       -- the last deletion of a name; the graph exists above its version
    graph   INTEGER PRIMARY KEY,               -- the number of the name since then
    version INTEGER NOT NULL,
    before  INTEGER NOT NULL,                  -- revisions below are deleted
    old     INTEGER NOT NULL,                  -- the number of the name before
    erased  INTEGER NOT NULL DEFAULT 0         -- 1 once no row has that number
);

CREATE TABLE standings (
    standing   INTEGER PRIMARY KEY,
    graph      INTEGER NOT NULL,
    doc_id     TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    extraction BLOB,                            -- NULL: deleted
    UNIQUE (graph, doc_id)
);

CREATE TABLE verdicts (                        -- verdicts of a judge on two labels, in the order of their names
    graph  INTEGER NOT NULL,
    a_name TEXT    NOT NULL,
    a_type TEXT    NOT NULL,
    b_name TEXT    NOT NULL,
    b_type TEXT    NOT NULL,
    same   INTEGER NOT NULL,                   -- odd: one entity; the rest is the fingerprint of the contexts it saw
    PRIMARY KEY (graph, a_name, a_type, b_name, b_type)
) WITHOUT ROWID;

CREATE TABLE documents (
    graph       INTEGER NOT NULL,
    doc_id      TEXT    NOT NULL,
    revision    INTEGER NOT NULL,
    title       TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    occurred_at TEXT    NOT NULL,
    metadata    TEXT    NOT NULL,               -- JSON [[key, JSON text], ...]
    chunks      TEXT    NOT NULL,               -- JSON [chunk, ...]
    PRIMARY KEY (graph, doc_id)
) WITHOUT ROWID;

CREATE TABLE chunks (
    key      INTEGER PRIMARY KEY,
    graph    INTEGER AS (key >> 32),
    chunk    INTEGER AS (key & 4294967295),
    chunk_id TEXT    NOT NULL,
    doc_id   TEXT    NOT NULL,
    ordinal  INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    text     TEXT    NOT NULL,
    vector   BLOB    NOT NULL,
    title       TEXT NOT NULL DEFAULT '',       -- what a model calls it; empty where none was asked
    description TEXT NOT NULL DEFAULT '',
    place       TEXT NOT NULL DEFAULT ''        -- JSON of its headings, page, row and kind; empty without structure
);

CREATE TABLE labels (
    key        INTEGER PRIMARY KEY,
    graph      INTEGER AS (key >> 32),
    label      INTEGER AS (key & 4294967295),
    name       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    node       INTEGER NOT NULL,
    mentions   INTEGER NOT NULL,
    vector_sum BLOB    NOT NULL
);

CREATE TABLE mentions (
    graph       INTEGER NOT NULL,
    chunk       INTEGER NOT NULL,
    number      INTEGER NOT NULL,               -- its place among those of the chunk
    label       INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    description TEXT    NOT NULL,
    count       INTEGER NOT NULL,
    PRIMARY KEY (graph, chunk, number)
) WITHOUT ROWID;

CREATE TABLE statements (
    key          INTEGER PRIMARY KEY,
    graph        INTEGER AS (key >> 32),
    statement    INTEGER AS (key & 4294967295),
    subject      INTEGER NOT NULL,              -- a label
    predicate    TEXT    NOT NULL,
    object       INTEGER NOT NULL,              -- a label
    count        INTEGER NOT NULL,
    weight_milli INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    vector_sum   BLOB    NOT NULL,
    vector       BLOB                           -- NULL: the vector that vector_sum ends with
);

CREATE TABLE evidence (
    graph        INTEGER NOT NULL,
    chunk        INTEGER NOT NULL,
    number       INTEGER NOT NULL,              -- its place among that of the chunk
    statement    INTEGER NOT NULL,
    description  TEXT    NOT NULL,
    sentence     TEXT    NOT NULL,
    weight_milli INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    valid_from   TEXT    NOT NULL,
    valid_to     TEXT    NOT NULL,
    PRIMARY KEY (graph, chunk, number)
) WITHOUT ROWID;

CREATE TABLE same_as (
    graph       INTEGER NOT NULL,
    a           INTEGER NOT NULL,
    b           INTEGER NOT NULL,
    rule        TEXT    NOT NULL,
    score_milli INTEGER NOT NULL,
    PRIMARY KEY (graph, a, b)
) WITHOUT ROWID;

CREATE TABLE entities (
    key      INTEGER PRIMARY KEY,
    graph    INTEGER AS (key >> 32),
    node     INTEGER AS (key & 4294967295),
    name     TEXT    NOT NULL,
    type     TEXT    NOT NULL,
    labels   TEXT    NOT NULL,                  -- JSON [label, ...]
    mentions INTEGER NOT NULL,
    version  INTEGER NOT NULL,
    vector   BLOB    NOT NULL
);

CREATE TABLE edges (
    graph     INTEGER NOT NULL,
    u         INTEGER NOT NULL,
    v         INTEGER NOT NULL,
    weight    INTEGER NOT NULL,
    trussness INTEGER NOT NULL,
    PRIMARY KEY (graph, u, v)
) WITHOUT ROWID;

CREATE TABLE communities (
    graph     INTEGER NOT NULL,
    community INTEGER NOT NULL,
    level     INTEGER NOT NULL,
    parent    INTEGER NOT NULL,                 -- 0 at the coarsest level
    PRIMARY KEY (graph, community)
) WITHOUT ROWID;

CREATE TABLE community_members (
    graph     INTEGER NOT NULL,
    node      INTEGER NOT NULL,
    community INTEGER NOT NULL,                 -- of level 0
    PRIMARY KEY (graph, node)
) WITHOUT ROWID;

CREATE TABLE reports (
    graph       INTEGER NOT NULL,
    community   INTEGER NOT NULL,
    level       INTEGER NOT NULL,
    fingerprint TEXT    NOT NULL,
    version     INTEGER NOT NULL,
    title       TEXT    NOT NULL,
    summary     TEXT    NOT NULL,
    sources     TEXT    NOT NULL,               -- JSON [chunk_id, ...]
    findings    TEXT    NOT NULL DEFAULT '[]',  -- JSON [[text, [chunk_id, ...], [relation_id, ...]], ...]
    rating      REAL    NOT NULL DEFAULT 0,
    PRIMARY KEY (graph, community)
) WITHOUT ROWID;

-- Memoised model answers --------------------------------------------------------------------------------------------

CREATE TABLE memo (
    entry INTEGER PRIMARY KEY,
    used  INTEGER NOT NULL UNIQUE,              -- rises with every row put, and with every old row that is used again
    key   BLOB    NOT NULL UNIQUE,
    value BLOB    NOT NULL
);

-- Views for the sqlite3 shell --------------------------------------------------------------------------------------

CREATE VIEW relations AS
SELECT graphs.name AS graph, subjects.name AS subject, statements.predicate, objects.name AS object,
       statements.count, statements.weight_milli / 1000.0 AS weight, statements.statement, statements.version
FROM statements
JOIN graphs ON graphs.graph = statements.graph
JOIN labels   AS one      ON one.key      = (statements.graph << 32 | statements.subject)
JOIN labels   AS other    ON other.key    = (statements.graph << 32 | statements.object)
JOIN entities AS subjects ON subjects.key = (statements.graph << 32 | one.node)
JOIN entities AS objects  ON objects.key  = (statements.graph << 32 | other.node);

INSERT INTO schema_version VALUES (6);
