"""Waiting for what was published."""

from __future__ import annotations

from typing import cast

import pytest

from graphtide.services.cli import publish
from graphtide.services.cli.client import Client, Json
from graphtide.services.cli.publish import PublishResult, wait_for_all


class _Slow:
    """A service that applies a document only after it has said four times why it does not."""

    def __init__(self) -> None:
        self.asked = 0
        self.messages: list[str] = []

    def get(self, path: str) -> Json:
        self.asked += 1
        waiting = self.asked <= 4
        return {
            "state": "accepted" if waiting else "applied",
            "reason": "the endpoint is unreachable" if waiting else "",
        }

    def tell(self, sentence: str) -> None:
        self.messages.append(sentence)


def test_wait_says_once_what_a_document_waits_for() -> None:
    """The user learns that an endpoint is unreachable, once and not at every poll."""
    slow, outcome = _Slow(), PublishResult(doc_ids=["a", "b"])
    wait_for_all(cast(Client, slow), "g", outcome, lambda _: None)
    assert slow.messages == ["a waits: the endpoint is unreachable"]
    assert outcome.states == {"applied": 2}


class _Large(_Slow):
    """A service that extracts a large document, and then adds it to the graph."""

    def get(self, path: str) -> Json:
        status, done = super().get(path), 64 * self.asked
        stage = "apply" if done > 192 else "extract"
        progress = {"stage": stage, "passages": 192, "extracted": min(done, 192), "embedded": min(done - 64, 192)}
        return status | {"reason": "", "progress": progress if status["state"] == "accepted" else None}


def test_wait_tells_the_progress_of_a_large_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line for each report, as the time between two of them is zero."""
    monkeypatch.setattr(publish, "TELL_S", 0.0)
    large = _Large()
    wait_for_all(cast(Client, large), "g", PublishResult(doc_ids=["a"]), lambda _: None)
    assert large.messages == [
        "a: 64 of 192 passages extracted, 0 embedded",
        "a: 128 of 192 passages extracted, 64 embedded",
        "a: 192 of 192 passages extracted, 128 embedded",
        "a: all 192 passages are embedded; they are being added to the graph",
    ]
