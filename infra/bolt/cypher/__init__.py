"""Every Cypher statement of Graphtide, and the layout that they make. No other package contains Cypher.

    (:Document)-[:HAS]->(:Chunk)-[:MENTIONS]->(:Label)-[:NAMES]->(:Entity)-[:RELATES]->(:Entity)
    (:Chunk)-[:SUPPORTS]->(:Statement)-[:SUBJECT|OBJECT]->(:Label)-[:SAME_AS]->(:Label)
    (:Entity)-[:MEMBER_OF]->(:Community)-[:PART_OF]->(:Community)<-[:ABOUT]-(:Report)

`(:Graph)` is a graph's head. Its `scope` (name/generation) is the valid generation of rows, so switching to a rebuilt
graph sets one property. Every node of a graph's rows has a `key` that begins with its scope, unique by constraint.

Rules of every statement: only parameters carry values; labels, types and properties are part of the text; repeated
values come as a list without duplicates, for UNWIND; on a document's path every MATCH begins at an index. Only what
both Neo4j 5 and Memgraph's openCypher accept is used (except the DDL, see schema.py). `SET x.lock = true REMOVE x.lock`
changes nothing but takes the write lock, so later reads of the transaction cannot be overtaken.

HAS, NAMES, SUBJECT, OBJECT, MEMBER_OF and PART_OF are derived from properties, for human readers and ad-hoc queries.
"""
