"""Standing questions of a service that is killed: every event exactly once, as by asking again after every commit.

A longer run: GRAPHTIDE_STANDING_STEPS=200 GRAPHTIDE_STANDING_SEED=7 pytest tests/recovery/test_standing_questions.py
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.crashing import Body, Crashing, crashing
from tests.support.standing import DEEDS, PEOPLE, QUESTIONS, THINGS, Json, StandingOracle, events_in

pytestmark = pytest.mark.thorough

STEPS = int(os.environ.get("GRAPHTIDE_STANDING_STEPS", "6"))
SEED = int(os.environ.get("GRAPHTIDE_STANDING_SEED", "3"))
POINTS = ("committed-not-followed:2", "before-events:2", "followed:3", "events-stored:2")
DOCUMENTS = 9


def random_document(rng: random.Random) -> Body:
    """Return a note about who did what to which thing."""
    a, b = rng.sample(PEOPLE, 2)
    text = f"{a} {rng.choice(DEEDS)} the {rng.choice(THINGS)}. {b} {rng.choice(DEEDS)} the {rng.choice(THINGS)}."
    body: Body = {"text": text, "source": rng.choice(("wire", "desk")), "occurred_at": f"{rng.randint(2020, 2026)}"}
    if rng.random() < 0.5:
        fact = {"subject": a, "predicate": rng.choice(("knows", "paid")), "object": b}
        body |= {"facts": [fact], "entities": [{"name": a}, {"name": b}]}
    return body


def test_events_are_those_of_asking_again_when_the_service_is_killed(tmp_path: Path) -> None:
    """0 missed, 0 more, each once: over edits, deletions, duplicates, and deaths before and after every step."""
    print("seed", SEED)
    rng = random.Random(SEED)
    with crashing(tmp_path, graph="g") as service:
        oracle = StandingOracle(lambda method, path, body=None: _json(service, method, path, body))
        publish(service, oracle, "d0", random_document(rng))
        for name, asked in QUESTIONS.items():
            oracle.register(name, asked)
        for step in range(STEPS):
            if step % 3 == 2:
                service.kill()
                service.start(POINTS[step // 3 % len(POINTS)])
            change(service, oracle, rng)
        events = {name: read_events(service, name, len(oracle.expected[name])) for name in QUESTIONS}
        for name, found in events.items():
            oracle.check(name, found)
        assert service.deaths >= STEPS // 3
        assert sum(map(len, events.values())), "no question fired: the stream proves nothing"


def change(service: Crashing, oracle: StandingOracle, rng: random.Random) -> None:
    """Publish, edit, delete or duplicate a document, and note what must follow."""
    doc_id = f"d{rng.randrange(DOCUMENTS)}"
    if doc_id in service.live and rng.random() < 0.35:
        token = _json(service, "DELETE", f"/documents/{doc_id}").get("token", "")
        service.live.pop(doc_id)
        oracle.committed(token or settled(service), doc_id)
        return
    again = service.live and rng.random() < 0.2
    publish(service, oracle, doc_id, service.live[rng.choice(sorted(service.live))] if again else random_document(rng))


def publish(service: Crashing, oracle: StandingOracle, doc_id: str, body: Body) -> None:
    token = _json(service, "PUT", f"/documents/{doc_id}", body)["token"]
    service.live[doc_id] = body
    oracle.committed(token, doc_id)


def settled(service: Crashing) -> str:
    """Return the token of the last revision of a document whose deletion was accepted before a death."""
    return str(_json(service, "GET", "/documents/d0").get("token", ""))


def read_events(service: Crashing, name: str, count: int) -> list[Json]:
    """Return the first `count` events of a question, and check that there are no more."""
    if not count:
        assert _json(service, "GET", f"/questions/{name}")["seq"] == 0
        return []
    assert service.service is not None
    url, text = f"{service.service.url}/v1/graphs/g/questions/{name}/events", ""
    with httpx.stream("GET", url, timeout=60) as response:
        assert response.status_code == 200
        for piece in response.iter_text():
            text += piece
            if len(events_in(text[: text.rfind("\n\n")])) >= count:
                break
    assert _json(service, "GET", f"/questions/{name}")["seq"] == count
    return events_in(text[: text.rfind("\n\n")])


def _json(service: Crashing, method: str, path: str, body: Any = None) -> Json:
    response = service.request(method, path, body)
    assert response.status_code in (200, 202, 404), (method, path, response.text)
    found: Json = response.json()
    return found
