"""The law, tested from outside: a stream with every kind of disturbance, and the clean build it must equal.

A `Schedule` is the input of a service: publications, each sent several times, interleaved over documents (of one
document in order, since the position decides which revision is newest), with kill -9 in between.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.support.processes import Service, start_service

GRAPH = "law"
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One request: a document's new revision, its deletion (`body` None), or kill -9 (`doc_id` empty)."""

    doc_id: str = ""
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """The steps in order, and the live bodies at the end."""

    steps: tuple[Step, ...]
    live: Mapping[str, Body]


def schedule(rng: random.Random, documents: Mapping[str, Body], edits: Mapping[str, Body], kills: int) -> Schedule:
    """Return a schedule: every document sent thrice, `edits` edited thrice, a tenth deleted, shuffled, with kills."""
    queues: dict[str, list[Step]] = {}
    live: dict[str, Body] = {}
    for doc_id, body in documents.items():
        queues[doc_id] = [Step(doc_id, body)] * 3
        live[doc_id] = body
        if doc_id in edits:
            queues[doc_id] += [Step(doc_id, edits[doc_id])] * 3
            live[doc_id] = edits[doc_id]
        if rng.random() < 0.1:
            queues[doc_id].append(Step(doc_id, None))
            del live[doc_id]
    order = [doc_id for doc_id, steps in queues.items() for _ in steps]
    rng.shuffle(order)
    steps = [queues[doc_id].pop(0) for doc_id in order]
    for place in sorted(rng.sample(range(len(steps)), kills), reverse=True):
        steps.insert(place, Step())
    return Schedule(tuple(steps), live)


def run(chosen: Schedule, data: Path, settings: Mapping[str, str] | None = None) -> tuple[str, Body]:
    """Run the schedule, restarting after every kill; return the digest at the end and the result of `verify`."""
    running = start_service(data, settings)
    try:
        with httpx.Client(timeout=60) as client:
            for step in chosen.steps:
                if step.doc_id:
                    _send(client, running, step)
                else:
                    running.kill()
                    running = start_service(data, settings)
        return _settled(running)
    finally:
        running.stop()


def build(live: Mapping[str, Body], data: Path, settings: Mapping[str, str] | None = None) -> str:
    """Return the digest of a clean build: each live document once, in reverse order, in batches."""
    running = start_service(data, settings)
    try:
        with httpx.Client(base_url=running.url, timeout=120) as client:
            for batch in _batches(sorted(live, reverse=True), 50):
                body = [{"id": doc_id, **live[doc_id]} for doc_id in batch]
                client.post(f"/v1/graphs/{GRAPH}/documents", json=body).raise_for_status()
        return _settled(running)[0]
    finally:
        running.stop()


def _send(client: httpx.Client, running: Service, step: Step) -> None:
    url = f"{running.url}/v1/graphs/{GRAPH}/documents/{step.doc_id}"
    response = client.delete(url) if step.body is None else client.put(url, json=step.body)
    assert response.status_code == 202, response.text


def _settled(running: Service) -> tuple[str, Body]:
    """Wait for the end of everything accepted, then read the digest and verify."""
    with httpx.Client(base_url=f"{running.url}/v1/graphs/{GRAPH}", timeout=600) as client:
        after = client.put("/documents/last", json={"text": "The last one.", "facts": []}).json()["token"]
        asked = {"question": "?", "after": after, "generate": False, "mode": "vector"}
        client.post("/query", json=asked, timeout=600).raise_for_status()
        stats = client.get("/stats").json()
        assert stats["lag"] == 0, stats
        assert stats["revisions"]["failed"] == 0, stats
        return client.get("/digest").json()["digest"], client.post("/verify").json()


def _batches(names: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), size):
        yield names[start : start + size]
