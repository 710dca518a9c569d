"""The effect of an edit before it is made, the same edit made, and the graph as it was before.

    graphtide serve                        # in another terminal
    python examples/what_if.py

prints

    the edit would add: Viktor Hale is captain of Meridian
    the edit would remove: Rosa Delgado is captain of Meridian
    the graph still answers: Rosa Delgado is the captain of Meridian. [1]
    the edit added: Viktor Hale is captain of Meridian
    the graph now answers: Viktor Hale is the captain of Meridian. [1]
    before the edit it was: Rosa Delgado is the captain of Meridian. [1]
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import graphtide
import graphtide.sync

QUESTION = "Who is the captain of Meridian?"


def facts(relations: Iterable[graphtide.ChangedRelation]) -> str:
    return "; ".join(f"{each.subject_name} {each.predicate} {each.object_name}" for each in relations)


url, key = os.environ.get("GRAPHTIDE_URL", "http://127.0.0.1:8080"), os.environ.get("GRAPHTIDE_API_KEY", "")
with graphtide.sync.connect(url, api_key=key) as db:
    ships = db.graph("ships", read_your_writes=True)
    first = ships.add("crew", "Rosa Delgado is the captain of Meridian.")
    before = ships.wait(first.token)
    edited = "Viktor Hale is the captain of Meridian."

    would = ships.preview(publish=[{"id": "crew", "text": edited}]).change.relations
    print("the edit would add:", facts(would.added))
    print("the edit would remove:", facts(would.removed))
    print("the graph still answers:", ships.ask(QUESTION).answer)

    ships.add("crew", edited)
    now = ships.ask(QUESTION)
    for change in ships.changes(after=first.token, follow=False):
        if isinstance(change, graphtide.Change):
            print("the edit added:", facts(change.relations.added))
    print("the graph now answers:", now.answer)
    print("before the edit it was:", ships.ask(QUESTION, at=f"v{before}").answer)
