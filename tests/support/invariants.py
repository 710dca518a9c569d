"""The invariants I1 to I6, I8 and I9 of a settled cluster, checked from outside against a model of the live documents.

A `ModelledGraph` is one graph of the cluster and what was done to it. Requests are sent until a process answers them:
servers and processes may be unreachable, so a revision may be accepted twice, which changes nothing of the graph.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from neo4j import GraphDatabase

from graphtide.streams.messages import DOCUMENTS
from tests.recovery.walk import expected_digest
from tests.support.cluster import Cluster
from tests.support.other_producers import OtherProducer, unread
from tests.support.processes import check_bounded

FRONT = "front"
TIMEOUT_S = 150.0
AGAIN = (429, 503, 504)
RESOLUTION_MS = 3
"""The minimum distance between two revisions that came through different partitions."""
Body = dict[str, Any]
Watermarks = Mapping[int, tuple[int, int]]


@dataclass
class ModelledGraph:
    """One graph of the cluster. `live` is the model: bodies by document, as the last answer left them.

    `failed` counts the documents that were meant to fail. `on_silence` is called whenever a request got no good answer,
    before it is sent again.
    """

    cluster: Cluster
    graph: str
    live: dict[str, Body] = field(default_factory=dict)
    accepted: int = 0
    failed: int = 0
    version: int = 0
    watermarks: Watermarks = field(default_factory=dict)
    on_silence: Callable[[], None] = field(default=lambda: None)
    has_other_producers: bool = False
    edits: dict[str, list[str]] = field(default_factory=dict)
    """The time, the way and the outcome of each edit, by document; shown when a document differs."""

    def request(self, method: str, path: str, body: object = None) -> httpx.Response:
        """Send one request under the graph's URL until the current front answers it."""
        deadline = time.monotonic() + TIMEOUT_S
        last = "there is no front"
        while True:
            front = self.cluster.processes.get(FRONT)
            try:
                if front is not None and "http" in front.addresses:  # otherwise it is starting
                    url = f"{front.addresses['http']}/v1/graphs/{self.graph}{path}"
                    answer = httpx.request(method, url, json=body, timeout=60)
                    if answer.status_code not in AGAIN:
                        return answer
                    last = answer.text
            except httpx.TransportError as error:
                last = f"{type(error).__name__} {error}"
            if method in ("PUT", "DELETE"):
                self._note(path.rpartition("/")[2], f"{method} again after {last[:200]}")
            assert time.monotonic() < deadline, f"no process answered {method} {path}: {last}"
            self.on_silence()
            time.sleep(0.1)

    def put(self, doc_id: str, body: Body) -> str:
        answer = self.request("PUT", f"/documents/{doc_id}", body)
        self._note(doc_id, f"PUT {answer.json().get('token')} {body['text'][:40]!r}")
        assert answer.status_code == 202, answer.text
        self.live[doc_id] = body
        self.accepted += 1
        return str(answer.json()["token"])

    def delete(self, doc_id: str) -> None:
        """Delete a document of the model. (Sent again after a lost answer, it may be deleted already.)

        A document of another producer is unknown, and so is not deleted, until extraction has read it.
        """
        answer = self._delete(doc_id)
        if answer.status_code == 404 and self.has_other_producers:
            self._await_extraction()
            answer = self._delete(doc_id)
        assert answer.status_code in (202, 404), answer.text
        self.live.pop(doc_id, None)
        self.accepted += answer.status_code == 202

    def _delete(self, doc_id: str) -> httpx.Response:
        answer = self.request("DELETE", f"/documents/{doc_id}")
        self._note(doc_id, f"DELETE {answer.status_code}")
        return answer

    def put_by(self, producer: OtherProducer, doc_id: str, body: Body | None, partition: int = -1) -> None:
        """Have another producer publish a document, None to delete it.

        It is appended when the clock separates it from the revision before, and again if the broker's does not yet: the
        order of two revisions of one millisecond is defined in docs/cluster.md and is not tested here. Two of one
        millisecond and one partition are counted once.
        """
        self.has_other_producers = True
        before_ms = int(time.time() * 1000)
        while int(time.time() * 1000) <= before_ms + RESOLUTION_MS:
            time.sleep(0.001)
        appended_at = {0}
        while max(appended_at) <= before_ms + RESOLUTION_MS:
            appended_at.add(producer.put(self.graph, doc_id, body, partition))
        self.accepted += len(appended_at) - 1
        text = body["text"][:40] if body else None
        self._note(doc_id, f"other producer, partition {partition}, after {before_ms}: {text!r}")
        self.live.pop(doc_id, None)
        if body is not None:
            self.live[doc_id] = body

    def _note(self, doc_id: str, what: str) -> None:
        self.edits.setdefault(doc_id, []).append(f"{time.time():.3f} {what}")

    def differing(self) -> list[str]:
        """Return the documents whose text is not the model's, each with its state and latest edits."""
        found = []
        for doc_id in sorted({*self.live, *self.edits}):
            status = self.request("GET", f"/documents/{doc_id}").json()
            text = status.get("text", "") if status.get("state") != "deleted" else ""
            if text != self.live.get(doc_id, {"text": ""})["text"]:
                state = {name: status.get(name) for name in ("state", "revision", "live_revision", "reason", "token")}
                found.append(f"{doc_id} holds {text[:40]!r}, {state}, edits {self.edits.get(doc_id, [])[-6:]}")
        return found

    def settle(self) -> None:
        """Return when everything that was accepted has reached its end and is queryable.

        Keys choose partitions, so a token of one document implies nothing about others: pending documents are counted,
        too. Records of other producers are in no ledger before extraction has read them.
        """
        if self.has_other_producers:
            self._await_extraction()
        token = self.put("last", {"text": "The last one.", "facts": []})
        asked = {"question": "?", "after": token, "generate": False, "mode": "vector", "top_k": 1}
        assert self.request("POST", "/query", asked).status_code == 200
        deadline = time.monotonic() + TIMEOUT_S
        while (stats := self.request("GET", "/stats").json())["lag"] or stats["revisions"]["accepted"]:
            assert time.monotonic() < deadline, f"I8: the lag does not go back to 0: {stats}"
            self.on_silence()
            time.sleep(0.1)
        assert self.request("POST", "/query", asked).status_code == 200

    def _await_extraction(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while left := unread(self.cluster.kafka, DOCUMENTS, "extract"):
            assert time.monotonic() < deadline, f"I8: {left} records of documents are not read"
            self.on_silence()
            time.sleep(0.1)

    def check(self) -> Body:
        """Settle, compare everything with the model, and return the stats."""
        self.settle()
        self._check_rising()
        verified = self.request("POST", "/verify").json()
        assert verified["differences"] == [], ("I2, I3, I6", verified)
        found = self.request("GET", "/digest").json()
        if not found["digest"] == verified["digest"] == expected_digest(self.live):
            raise AssertionError("I4", found, verified, self.differing())
        stats: Body = self.request("GET", "/stats").json()
        revisions = stats["revisions"]
        assert stats["lag"] == 0 and revisions["accepted"] == 0, ("I1, I8", stats)
        assert sum(revisions.values()) >= self.accepted and revisions["failed"] == self.failed, ("I1", stats)
        assert stats["counts"]["documents"] == len(self.live), ("I1", stats)
        for kind, index in stats["indexes"].items():
            assert index["live"] == stats["counts"][kind], ("I6", kind, stats)
        assert stats["version"] >= self.version, ("I5", stats, self.version)
        self.version = stats["version"]
        for name, process in list(self.cluster.processes.items()):
            check_bounded(name, process.process.pid, process.begun)
        return stats

    def _check_rising(self) -> None:
        marks = watermarks(self.cluster)
        for partition, before in self.watermarks.items():
            now = marks[partition]
            assert now[0] >= before[0] and now[1] >= before[1], ("I5", partition, before, now)
        self.watermarks = marks


def watermarks(cluster: Cluster) -> Watermarks:
    """Return (epoch, next offset) by partition, read without the processes."""
    address = cluster.graph_server.address
    asked = "MATCH (w:Watermark) RETURN w.partition AS partition, w.epoch AS epoch, w.next_offset AS next_offset"
    with GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver:
        found, _, _ = driver.execute_query(asked)
    return {row["partition"]: (row["epoch"], row["next_offset"]) for row in found}
