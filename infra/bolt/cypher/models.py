"""Statements on memoised answers of models, and on the usage ledger.

An account is one graph's day; every write to it happens under its lock.
"""

from __future__ import annotations

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
