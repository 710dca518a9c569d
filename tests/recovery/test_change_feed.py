"""The change feed across kill -9: a reader that resumes with its token gets every commit exactly once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import httpx

import graphtide
from tests.support.processes import Service, start_service

SEED = 20_261_122
STEPS, KILLS = 12, 2
PATH = "/v1/graphs/law"
FACTS = [("Ana Ruiz", "signed", "the contract"), ("Kessel AG", "supplies", "the boiler"), ("Kessel", "owns", "Bergen")]


def body(rng: random.Random) -> dict[str, Any]:
    """Return a document with one or two of a few facts."""
    chosen = rng.sample(FACTS, rng.randint(1, 2))
    return {
        "text": f"{chosen} {rng.randrange(3)}",
        "entities": [{"name": name} for s, _, o in chosen for name in (s, o)],
        "facts": [{"subject": s, "predicate": p, "object": o} for s, p, o in chosen],
    }


def read(running: Service, copy: graphtide.GraphReplica, after: str) -> str:
    """Apply what the feed has after a token to the copy; return the token of the last change."""
    asked = {"detail": "rows", "follow": "false"} | ({"after": after} if after else {})
    headers = {"accept": "application/x-ndjson"}
    answer = httpx.get(f"{running.url}{PATH}/changes", params=asked, headers=headers, timeout=120).raise_for_status()
    for line in filter(None, answer.text.split("\n")):
        event = json.loads(line)
        if "part" not in event:
            assert event["version"] == copy.version + 1, "a commit is missing or repeated"
        copy.apply(event)
        after = event["token"]
    return after


def test_reader_resumes_after_kill_9(tmp_path: Path) -> None:
    """Documents are published, edited and deleted with kills right after they are accepted: the copy has the digest."""
    print("seed", SEED)
    rng = random.Random(SEED)
    kills, copy, token = set(rng.sample(range(2, STEPS), KILLS)), graphtide.GraphReplica(), ""
    running = start_service(tmp_path / "data")
    try:
        for step in range(STEPS):
            url = f"{running.url}{PATH}/documents/d{rng.randrange(4)}"
            answer = httpx.put(url, json=body(rng), timeout=120) if step % 4 else httpx.delete(url, timeout=120)
            if answer.status_code == 404:  # nothing to delete
                answer = httpx.put(url, json=body(rng), timeout=120)
            last = answer.raise_for_status().json()["token"]
            if step in kills:
                running.kill()
                running = start_service(tmp_path / "data")
            if step % 3 == 0:
                httpx.get(f"{running.url}{PATH}/tokens/{last}?wait_s=60", timeout=120).raise_for_status()
                token = read(running, copy, token)
        httpx.get(f"{running.url}{PATH}/tokens/{last}?wait_s=60", timeout=120).raise_for_status()
        read(running, copy, token)
        digest = httpx.get(f"{running.url}{PATH}/digest", timeout=120).json()
        assert (copy.version, copy.digest()) == (digest["version"], digest["digest"])
    finally:
        running.stop()
