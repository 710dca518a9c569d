"""Structured documents through the whole embedded service: places, titles, sources, and the law."""

from __future__ import annotations

import random
from pathlib import Path

import graphtide
import graphtide.sync

NOTE = """---
title: Boiler house
date: 2025-03-05
team: ops
---
# Boilers

## Contract

Ana Ruiz **signed** the contract with [[Kessel AG]].

| valve | room | turns |
| --- | --- | --- |
| V1 | K-01 | 4 |
| V2 | K-02 | 9 |
"""


def test_document_keeps_its_text_and_passages_show_their_place(tmp_path: Path) -> None:
    """The stored text is the published one; passages have no markup, and title, headings and rows beside them."""
    with graphtide.sync.open(tmp_path / "data") as db:
        notes = db.graph("notes")
        token = notes.add("boiler.md", NOTE, media_type="text/markdown").token
        answer = notes.ask("Who signed the contract?", after=token, top_k=10)
        document = notes.document("boiler.md")
    assert (document.text, document.media_type, document.title, document.occurred_at) == (
        NOTE,
        "text/markdown",
        "Boiler house",
        "2025-03-05",
    )
    assert document.metadata == {"team": "ops"}
    places = {passage.text: passage.place for passage in answer.passages}
    assert places["Ana Ruiz signed the contract with Kessel AG."].headings == ("Boilers", "Contract")
    rows = places["valve: V1; room: K-01; turns: 4\n\nvalve: V2; room: K-02; turns: 9"]
    assert (rows.row, rows.kind) == (1, graphtide.PassageKind.TABLE)
    assert {passage.title for passage in answer.passages} == {"Boiler house"}
    assert all(mark not in passage.text for passage in answer.passages for mark in ("**", "[[", "|", "#"))


def table(rows: list[int]) -> str:
    return "name,town\n" + "".join(f"Person number {n} of the long list,Town {n} by the sea\n" for n in rows)


def test_row_keeps_its_passage_when_rows_are_inserted_above(tmp_path: Path) -> None:
    """A row is identified by its content; only its number changes, and the graph equals a fresh one."""
    with graphtide.sync.open(tmp_path / "data") as db:
        edited, fresh = db.graph("edited"), db.graph("fresh")
        edited.wait(edited.add("t.csv", table(list(range(40))), media_type="text/csv").token)
        before = edited.ask("Person number 39", top_k=40)
        edited.wait(edited.add("t.csv", table([99, *range(40)]), media_type="text/csv").token)
        after = edited.ask("Person number 39", top_k=41)
        fresh.wait(fresh.add("t.csv", table([99, *range(40)]), media_type="text/csv").token)
        assert edited.digest().digest == fresh.digest().digest
        assert not edited.verify().differences
    rows = {passage.chunk_id: passage.place.row for passage in before.passages}
    moved = {passage.chunk_id: passage.place.row for passage in after.passages}
    shared = rows.keys() & moved.keys()
    assert len(shared) > 30 and all(moved[chunk] == rows[chunk] + 1 for chunk in shared)


def test_edits_of_markdown_in_any_order_give_the_digest_of_a_fresh_graph(tmp_path: Path) -> None:
    """Headings, rows and items that change, move and disappear leave nothing behind."""
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)

    def note() -> str:
        parts = ["# Log"]
        for n in rng.sample(range(6), rng.randrange(1, 6)):
            parts.append(
                f"## Section {n % 3}\n\nAna Ruiz moved to Town {n}.\n\n- Bo Lind owns boat {n}\n- [ ] paint it"
            )
            parts.append(f"| name | town |\n| --- | --- |\n| Cy Moe | Town {n} |")
        return "\n\n".join(parts)

    with graphtide.sync.open(tmp_path / "data") as db:
        edited, fresh = db.graph("edited"), db.graph("fresh")
        last: dict[str, str] = {}
        for _ in range(25):
            name = f"{rng.randrange(5)}.md"
            if name in last and rng.random() < 0.25:
                del last[name]
                token = edited.delete(name).token
            else:
                last[name] = note()
                token = edited.add(name, last[name]).token
        edited.wait(token)
        for name, text in last.items():
            token = fresh.add(name, text).token
        fresh.wait(token)
        assert edited.digest().digest == fresh.digest().digest
        rebuilt = edited.rebuild()
        assert rebuilt.switched and rebuilt.before == rebuilt.after
