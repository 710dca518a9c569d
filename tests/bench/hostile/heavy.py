"""Heavy but legitimate requests as cases, and a small document of another graph beside a large one."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import httpx

from tests.support.processes import Service

SEED = 7
LIMIT_S = 600.0
Figures = dict[str, object]


class Client:
    """A client of one service."""

    def __init__(self, url: str) -> None:
        limits = httpx.Limits(max_connections=200)
        self.http = httpx.Client(base_url=url, timeout=LIMIT_S, limits=limits)

    def put(self, graph: str, doc_id: str, body: dict[str, object]) -> None:
        self.http.put(f"/v1/graphs/{graph}/documents/{doc_id}", json=body).raise_for_status()

    def put_and_wait(self, graph: str, doc_id: str, body: dict[str, object]) -> tuple[float, str]:
        """Publish and wait for the document's end; return the seconds and the state."""
        started = time.monotonic()
        self.put(graph, doc_id, body)
        while time.monotonic() - started < LIMIT_S:
            status = self.http.get(f"/v1/graphs/{graph}/documents/{doc_id}").json()
            if status["state"] != "accepted":
                return time.monotonic() - started, status["state"]
            time.sleep(0.05)
        return time.monotonic() - started, "accepted"

    def storm(self, count: int, request: Callable[[httpx.Client], httpx.Response]) -> dict[str, object]:
        """Send `count` equal requests at once; return the number of responses by status."""
        with ThreadPoolExecutor(count) as pool:
            statuses = [one.status_code for one in pool.map(lambda _: request(self.http), range(count))]
        return {str(status): statuses.count(status) for status in sorted(set(statuses))}


def prose(rng: random.Random, size: int) -> str:
    """Return English-looking sentences with names, dates and statements."""
    names = [
        f"{a}{b}" for a in ("Mar", "Lor", "Ken", "Ald", "Bri", "Tol") for b in ("na", "vik", "ston", "gard", "mer")
    ]
    verbs = ("founded", "visited", "acquired", "moved to", "was born in", "works for", "wrote about", "opposed")
    lines, length = [], 0
    while length < size:
        a, b = rng.sample(names, 2)
        line = f"{a} {rng.choice(names)} {rng.choice(verbs)} {b} in {rng.randint(1800, 2020)}, near the old harbour. "
        lines.append(line)
        length += len(line)
    return "".join(lines)


def answers(client: Client, rng: random.Random) -> Figures:
    """Request 60 parallel offline answers with top_k 100."""
    for number in range(40):
        client.put("answers", f"d{number}", {"text": prose(rng, 6_000), "facts": []})
    client.put_and_wait("answers", "last", {"text": prose(rng, 6_000), "facts": []})
    question = {"question": "Who founded Marvik near the old harbour?", "top_k": 100, "mode": "vector"}
    return client.storm(60, lambda http: http.post("/v1/graphs/answers/query", json=question))


def facts(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a document of 2.3 MB with 5,000 facts."""
    stated = [
        {"subject": f"subject {n}", "predicate": "knows", "object": f"object {n}", "description": "d" * 40}
        for n in range(5_000)
    ]
    seconds, state = client.put_and_wait("facts", "big", {"text": prose(rng, 1_800_000), "facts": stated})
    return {"state": state, "until_end_s": round(seconds, 1)}


def long_prose(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a prose document of 1.5 MB, extracted offline."""
    seconds, state = client.put_and_wait("prose", "big", {"text": prose(rng, 1_500_000)})
    return {"state": state, "until_end_s": round(seconds, 1)}


def statuses(client: Client, rng: random.Random) -> dict[str, object]:
    """Request 60 parallel statuses of a document of 400 KB."""
    client.put_and_wait("status", "big", {"text": prose(rng, 400_000)})
    return client.storm(60, lambda http: http.get("/v1/graphs/status/documents/big"))


def statuses_of_facts(client: Client, _: random.Random) -> dict[str, object]:
    """Request 60 parallel statuses of a document with 5,000 facts that its text names."""
    client.put_and_wait("many", "big", crowded(5_000))
    return client.storm(60, lambda http: http.get("/v1/graphs/many/documents/big"))


def crowded(count: int) -> dict[str, object]:
    """Return a document with that many facts, spread over its passages."""
    facts = [{"subject": f"S{n}", "predicate": "met", "object": f"O{n}"} for n in range(count)]
    return {"text": " ".join(f"S{n} met O{n} in the old harbour." for n in range(count)), "facts": facts}


def digests(client: Client, rng: random.Random) -> dict[str, object]:
    """Request 100 parallel digests of a graph of 400 KB of prose."""
    client.put_and_wait("digest", "big", {"text": prose(rng, 400_000)})
    return client.storm(100, lambda http: http.get("/v1/graphs/digest/digest"))


def clique(size: int) -> dict[str, object]:
    """Return facts that connect each of `size` entities to all others; each passage names two thirds of them."""
    names = [f"Node {number}x" for number in range(size)]
    cut = size * 62 // 100
    parts = (names[:cut], names[size - cut :], names[cut:] + names[: size - cut])
    text = "\n\n".join(", ".join(part) + ". " + "These words fill the passage. " * 30 for part in parts)
    stated = [{"subject": names[a], "predicate": "touches", "object": names[b]} for a in range(size) for b in range(a)]
    return {"text": text, "facts": stated}


def neighbour(client: Client, rng: random.Random) -> dict[str, object]:
    """Publish a one-line document, alone and while another graph's clique is consolidated."""
    line: dict[str, object] = {"text": f"Ada {rng.randint(0, 9)} met Bob in Paris."}
    client.put_and_wait("small", "warm", line)
    alone = sorted(client.put_and_wait("small", f"alone{n}", line)[0] for n in range(5))[2]
    client.put("heavy", "clique", clique(100))
    worst, until = 0.0, time.monotonic() + LIMIT_S
    number, state = 0, "accepted"
    while state == "accepted" and time.monotonic() < until:
        worst = max(worst, client.put_and_wait("small", f"beside{number}", line)[0])
        state = client.http.get("/v1/graphs/heavy/documents/clique").json()["state"]
        number += 1
    figures = {"alone_s": round(alone, 2), "beside_worst_s": round(worst, 2), "documents": number, "heavy": state}
    return {**figures, "ratio": round(worst / alone, 1)}


async def _as_case(work: Callable[[Client, random.Random], Figures], running: Service) -> Figures:
    return await asyncio.to_thread(work, Client(running.url), random.Random(SEED))


def cases() -> dict[str, Callable[[Service], Awaitable[Figures]]]:
    """Return the cases by name. Each ends by itself and returns its figures."""
    works = (answers, facts, long_prose, statuses, statuses_of_facts, digests, neighbour)
    return {work.__name__: partial(_as_case, work) for work in works}
