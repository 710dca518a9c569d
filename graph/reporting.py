"""What a community is about: its entities, what is said among them, and where. Input to reports, pure reading.

Cost: the members of the community and their statements; call it for a community whose report is to be written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph.identity import short_digest
from graph.view import LiveView


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement inside a community: readable, with a sentence that says so and the chunk it stands in."""

    text: str
    sentence: str
    chunk_id: str
    count: int


@dataclass(frozen=True, slots=True)
class Subject:
    """A community as a report needs it, the most mentioned entities and the most stated findings first.

    `fingerprint` is equal as long as members, statements and their support are.
    """

    community: int
    level: int
    fingerprint: str
    entities: tuple[str, ...]
    findings: tuple[Finding, ...]
    size: int


def members(view: LiveView, community: int) -> Iterator[int]:
    """The entities of a community of any level, by node."""
    if view.hierarchy.level(community) == 0:
        yield from view.hierarchy.members(community).tolist()
        return
    for child in view.hierarchy.members(community).tolist():
        yield from members(view, child)


def subject(view: LiveView, community: int, most: int = 10) -> Subject:
    """Read a community. Call under `view.lock.read()`. Raises KeyError when it is no longer there."""
    nodes = set(members(view, community))
    names = sorted((-view.entities[node].mentions, view.entities[node].name, view.entity_id(node)) for node in nodes)
    inside = {
        number
        for node in nodes
        for number in view.statements_of(node)
        if all(end in nodes for end in view.ends(number))
    }
    findings = sorted(
        (_finding(view, number) for number in inside), key=lambda one: (-one.count, one.text, one.chunk_id)
    )
    fingerprint = short_digest(*(name for _, _, name in names), *(repr(one) for one in findings))
    shown = tuple(name for _, name, _ in names[:most])
    level = view.hierarchy.level(community)
    return Subject(community, level, fingerprint, shown, tuple(findings[:most]), len(nodes))


def _finding(view: LiveView, number: int) -> Finding:
    """A statement with the first sentence (by chunk id) that supports it."""
    said = view.statements[number]
    subject_node, object_node = view.ends(number)
    chunk = min(said.chunks, key=lambda chunk: view.chunks[chunk].chunk_id)
    sentence = next((row.sentence for row in view.chunks[chunk].evidence if row.statement == number), "")
    text = f"{view.entities[subject_node].name} {said.predicate} {view.entities[object_node].name}"
    return Finding(text, sentence, view.chunks[chunk].chunk_id, said.count)
