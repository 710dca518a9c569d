"""A cluster of real processes that runs, and requests to its gateway."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.cluster import Cluster

PARTITIONS = 4
SOURCES = '[[sources]]\ntopic = "{topic}"\ngraph = "rows"\nid = "rows/{{id}}"\ntext = "{{signer}} signed {{name}}."\n'
NO_PORTS = ("--metrics-port", "0")
SERVE = ("serve", "--port", "0", "--grpc-port", "0")
PEOPLE = (
    "Ada Lovelace",
    "Charles Babbage",
    "Mary Somerville",
    "Augustus De Morgan",
    "Michael Faraday",
    "John Herschel",
)

DEEDS = ("knew", "taught", "wrote to", "visited", "praised")

Body = dict[str, Any]


@dataclass
class Live:
    """The running cluster, and the two addresses for queries."""

    cluster: Cluster
    urls: tuple[str, str]

    def __getitem__(self, face: int) -> str:
        return f"{self.urls[face]}/v1/graphs"


def body(rng: random.Random) -> Body:
    """Return a document with the facts that it states, about few people, so that entities are shared."""
    triples = [(*rng.sample(PEOPLE, 2), rng.choice(DEEDS)) for _ in range(rng.randint(1, 3))]
    text = " ".join(f"{subject} {deed} {object_}." for subject, object_, deed in triples)
    facts = [{"subject": subject, "predicate": deed, "object": object_} for subject, object_, deed in triples]
    return {"text": text, "facts": facts, "metadata": {"n": rng.randint(1, 9)}}


def ask(client: httpx.Client, graph_url: str, token: str) -> Body:
    """Return an address's answer once it includes the token. Repeated after its deadline: servers may be restarting."""
    asked = {"question": "Who knew whom?", "after": token, "generate": False, "mode": "vector", "top_k": 100}
    deadline = time.monotonic() + 150
    while (response := client.post(f"{graph_url}/query", json=asked)).status_code == 504:
        assert time.monotonic() < deadline, response.text
    assert response.status_code == 200, response.text
    answer: Body = response.json()
    return answer


def publish(client: httpx.Client, graph_url: str, doc_id: str, document: Body | None) -> str:
    """Return the token of a new revision, or of the deletion of a live document (None). Repeated while a server is
    unreachable.

    A deletion whose reply was lost with a killed replica is repeated by the gateway, or here, and is then refused with
    404: the document is published and deleted once more, for a token.
    """
    url = f"{graph_url}/documents/{doc_id}"
    if document is not None:
        response = _repeated(lambda: client.put(url, json=document))
    else:
        live = _repeated(lambda: client.get(url))
        assert live.json()["state"] != "deleted", live.text  # so a 404 below means that this deletion was accepted
        response = _repeated(lambda: client.delete(url))
        if response.status_code == 404 and "is deleted already" in response.text:
            publish(client, graph_url, doc_id, {"text": "Published again."})
            return publish(client, graph_url, doc_id, None)
    assert response.status_code == 202, response.text
    return str(response.json()["token"])


def _repeated(call: Callable[[], httpx.Response]) -> httpx.Response:
    """Return the first response that is not 503, or the last one after 90 s."""
    deadline = time.monotonic() + 90
    while (response := call()).status_code == 503 and time.monotonic() < deadline:
        time.sleep(float(response.headers.get("retry-after", 1)))
    return response
