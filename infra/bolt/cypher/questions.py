"""Statements on standing questions and their events."""

from __future__ import annotations

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
