"""kill -9 during the deletion of a graph, then restarts: it is finished, and the name is free."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import httpx

from tests.recovery.test_kill_points import bodies
from tests.support import law
from tests.support.crashing import Crashing, behind, crashing

STEPS = (
    "graph-ended",
    "portion-erased:2",
)
"""Each life continues where the one before died, so one course passes both."""
QUICK = {"GRAPHTIDE_EMBEDDING_MODEL": "hashing"}
AGAIN = {"d1": {"text": "Ana Ruiz lives in Lisbon."}}


def rows_of_graphs(data: Path) -> dict[str, int]:
    """Return the number of rows, by table, that belong to no graph."""
    tables = ("chunks", "entities", "statements", "labels", "documents", "standings", "revisions", "mentions", "edges")
    with behind(data) as database:
        query = "SELECT count(*) FROM {} WHERE graph NOT IN (SELECT graph FROM graphs)"
        return {table: database.execute(query.format(table)).fetchone()[0] for table in tables}


def delete_graph(one: Crashing) -> None:
    """Request the deletion once; every life dies at its step, and the last one finishes."""
    one.start(*STEPS)
    assert one.service is not None
    with suppress(httpx.TransportError):
        httpx.delete(f"{one.service.url}/v1/graphs/{one.graph}?wait_s=60", timeout=120)
    while one.failpoints or one.deaths < len(STEPS):
        if one.service is not None:
            one.wait_for_death()
        one.start()
    while one.request("GET", "/stats").status_code != 404:
        time.sleep(0.05)
    one.live.clear()
    one.accepted = 0


def test_deletion_is_finished_when_the_service_dies_meanwhile(tmp_path: Path) -> None:
    """The graph is gone after two deaths, no row is left, and publishing again gives the digest of a clean build."""
    clean = law.build(AGAIN, tmp_path / "clean", QUICK)
    with crashing(tmp_path / "data", settings=QUICK, graph=law.GRAPH) as one:
        one.start()
        for doc_id, body in bodies(1, 6).items():
            one.put(doc_id, body)
        one.settle()
        assert one.stop() == 0
        one.start(*STEPS)
        delete_graph(one)
        assert one.deaths == len(STEPS), f"{one.failpoints} were never passed"
        for doc_id, body in AGAIN.items():
            one.put(doc_id, body)
        one.settle()
        one.check(clean)
        assert one.stop() == 0
        assert set(rows_of_graphs(tmp_path / "data").values()) == {0}
