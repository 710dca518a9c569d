"""Rendering of standing questions and their events as text; unused with --json.

The invariant: content of documents is printed as text, never interpreted as markup.
"""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from graphtide.services.cli.client import Json

_SHOWN_CHARS = 200


def question(console: Console, body: Json) -> None:
    """Print a question, its evidence and its answer."""
    console.print(Text.assemble((body["id"], "bold"), "  ", body["question"]))
    console.print(
        Text(f"mode {body['mode']}, version {body['version']}, unchanged since {body['changed_version']}", "dim")
    )
    if body["answer"]:
        console.print(Text(body["answer"]))
    _passages(console, body["passages"], "  ")


def questions(console: Console, body: Json) -> None:
    """Print a table of questions."""
    table = Table("id", "question", "mode", "events", "changed at")
    for each in body["questions"]:
        cells = (each["id"], each["question"], each["mode"], str(each["seq"]), each["changed_at"])
        table.add_row(*map(Text, cells))
    console.print(table)
    if body.get("next"):
        console.print(Text(f"more: --cursor {body['next']}", "dim"))


def event(console: Console, body: Json) -> None:
    """Print one change of the evidence: what entered, what left, and why."""
    causes = ", ".join(cause["doc_id"] for cause in body["causes"]) or "the rebuild of the graph"
    console.print(Text.assemble((f"{body['occurred_at']} ", "dim"), (f"#{body['seq']} ", "bold cyan"), f"by {causes}"))
    _passages(console, body["entered"], "+ ")
    _passages(console, body["left"], "- ")
    if not body["entered"] and not body["left"]:
        console.print(Text("    another order of the same passages", "dim"))
    if body["answer"]:
        console.print(Padding(Text(body["answer"]), (0, 0, 0, 4)))


def _passages(console: Console, passages: list[Json], mark: str) -> None:
    for each in passages:
        text = " ".join(each["text"].split())
        shown = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"
        console.print(Text.assemble(f"  {mark}", (each["doc_id"], "bold"), (f"  {shown}", "dim")))
