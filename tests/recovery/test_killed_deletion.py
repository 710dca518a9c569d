"""kill -9 at every step of the deletion of a graph: the next process continues, and the name is free afterwards."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.recovery.test_kill_points import bodies
from tests.support.crashing import Crashing, behind, crashing

pytestmark = pytest.mark.thorough

STEPS = (
    "deletion-requested",
    "graph-ended",
    "letters-marked",
    "portion-erased:1",
    "portion-erased:2",
    "erased",
)
"""In the order of a deletion, which each process continues where the one before it died: it passes the next step."""
QUICK = {"GRAPHTIDE_EMBEDDING_MODEL": "hashing"}
AGAIN = {"d1": {"text": "Ana Ruiz lives in Lisbon."}}
TABLES = (
    *("chunks", "entities", "statements", "labels", "documents", "standings", "revisions", "mentions", "edges"),
    *("evidence", "verdicts", "reports", "changes"),
)


def rows_without_graph(data: Path) -> dict[str, int]:
    """Return the number of rows, by table, that belong to no graph."""
    owner = {"chunks": "key >> 32", "entities": "key >> 32", "statements": "key >> 32", "labels": "key >> 32"}
    owner["changes"] = "key >> 32"
    with behind(data) as database:
        query = "SELECT count(*) FROM {} WHERE {} NOT IN (SELECT graph FROM graphs)"
        return {
            table: database.execute(query.format(table, owner.get(table, "graph"))).fetchone()[0] for table in TABLES
        }


def die_at_every_step(one: Crashing) -> None:
    """Request the deletion once, and start a new process after each death."""
    assert one.service is not None
    with suppress(httpx.TransportError):
        httpx.delete(f"{one.service.url}/v1/graphs/{one.graph}?wait_s=60", timeout=120)
    while one.deaths < len(STEPS):
        if one.service is not None:
            one.wait_for_death()
        one.start()
    assert not one.failpoints


def digest_of(one: Crashing, graph: str) -> str:
    """Publish the documents of the next graph under that name, and return its digest."""
    one.graph, one.accepted = graph, 0
    one.live.clear()
    for doc_id, body in AGAIN.items():
        one.put(doc_id, body)
    one.settle()
    return str(one.request("GET", "/digest").json()["digest"])


def test_deletion_is_finished_when_the_service_dies_at_every_step(tmp_path: Path) -> None:
    """The graph is gone, no row of it is left, and the name used again has the digest of a clean build."""
    with crashing(tmp_path / "data", settings=QUICK, graph="g") as one:
        one.start(*STEPS)
        for doc_id, body in bodies(1, 6).items():
            one.put(doc_id, body)
        one.settle()
        die_at_every_step(one)
        clean = digest_of(one, "clean")
        assert digest_of(one, "g") == clean
        one.check(clean)
        assert one.stop() == 0
        assert set(rows_without_graph(tmp_path / "data").values()) == {0}
