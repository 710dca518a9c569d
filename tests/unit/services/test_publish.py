"""Waiting for what was published."""

from __future__ import annotations

from typing import cast

from graphtide.services.cli.client import Client, Json
from graphtide.services.cli.publish import PublishResult, wait_for_all


class _Slow:
    """A service that applies a document only after it has said four times why it does not."""

    def __init__(self) -> None:
        self.asked = 0
        self.told: list[str] = []

    def get(self, path: str) -> Json:
        self.asked += 1
        waiting = self.asked <= 4
        return {
            "state": "accepted" if waiting else "applied",
            "reason": "the endpoint is unreachable" if waiting else "",
        }

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)


def test_wait_says_once_what_a_document_waits_for() -> None:
    """The user learns that an endpoint is unreachable, once and not at every poll."""
    slow, outcome = _Slow(), PublishResult(doc_ids=["a", "b"])
    wait_for_all(cast(Client, slow), "g", outcome, lambda _: None)
    assert slow.told == ["a waits: the endpoint is unreachable"]
    assert outcome.states == {"applied": 2}
