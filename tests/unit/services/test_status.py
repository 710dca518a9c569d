"""`graphtide status`: every part with what it does and, where it is not well, what to do."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate
from graphtide.services.cli import render as show
from graphtide.services.cli.status import explained, outlook
from graphtide.services.component_state import RUNNING, WELL, degraded
from graphtide.services.wiring import open_application
from tests.support.stages import eventually

PARTS = {
    "extract": RUNNING,
    "kafka": degraded("did not answer within 2 s"),
    "views": WELL,
    "novel": degraded("is out of ink"),
}


def test_parts_that_are_not_well_come_first_with_what_to_do() -> None:
    """One that is not known is shown all the same; one that is well needs nothing."""
    rows = explained(PARTS)
    assert [row["component"] for row in rows] == ["kafka", "novel", "extract", "views"]
    assert "start the brokers" in rows[0]["action"] and "log" in rows[1]["action"] and not rows[2]["action"]
    assert all(row["role"] for row in rows if row["component"] != "novel")
    assert explained({"partition 3": degraded("x")})[0]["role"]


def test_parts_of_a_start_and_of_files_are_known() -> None:
    """The states of a start and of each security file have an explanation and a remedy."""
    names = ["start", *(f"newer {name}" for name in AccessGate().problems())]
    for row in explained(dict.fromkeys(names, degraded("x"))):
        assert row["role"] and "the process's log has details" not in row["action"], row


async def test_every_component_of_a_service_has_a_role(tmp_path: Path) -> None:
    """The tasks and dependencies of a single process with every optional task, and those of workers of a cluster."""
    async with open_application(Settings(data=tmp_path, embedding_model="hashing", purge_at="03:00")) as application:

        async def started() -> bool:
            return {"standing-questions", "standing-answers", "purge"} <= (await application.health()).components.keys()

        await eventually(started)
        names = set((await application.health()).components)
    names |= {"standing-registrations", "standing-progress", "standing-topic", "graph-changes", "pair-judge"}
    names |= {"partition 3", "graph notes", "deletion", "re-embedding", "follow"}
    for row in explained(dict.fromkeys(names, RUNNING)):
        assert row["role"], row["component"]


def test_outlook_says_in_one_sentence_what_is_missing() -> None:
    """Ready without something is another sentence than ready, and than not ready."""
    assert outlook(True, {"kafka": WELL}) == "ready"
    assert outlook(True, PARTS) == "ready, but without: kafka, novel"
    assert outlook(False, PARTS) == "not ready, because of: kafka, novel"


def test_table_shows_every_part_and_the_cure() -> None:
    """As text: what parts say is never read as markup."""
    console = Console(width=200, record=True, markup=False)
    body = {"url": "http://x", "ready": False, "components": {"kafka": "[red]away"}}
    show.standing(console, {**body, "explained": explained({"kafka": degraded("[red]away")})})
    shown = console.export_text()
    assert "not ready, because of: kafka" in shown and "[red]away" in shown and "start the brokers" in shown
