"""The oracle of standing questions over HTTP: every question is asked again, exactly, after every commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Json = dict[str, Any]


class Requests(Protocol):
    """Sends one request below the URL of a graph, and returns the body of the answer."""

    def __call__(self, method: str, path: str, body: Json | None = None) -> Json: ...


@dataclass
class StandingOracle:
    """The evidence of each question after each commit, and the events that follow from it."""

    send: Requests
    asked: dict[str, Json] = field(default_factory=dict)
    lists: dict[str, list[str]] = field(default_factory=dict)
    expected: dict[str, list[Json]] = field(default_factory=dict)

    def register(self, question_id: str, asked: Json) -> None:
        """Register a question, whose evidence must be that of asking it."""
        found = self.send("PUT", f"/questions/{question_id}", asked)
        self.asked[question_id] = asked
        self.lists[question_id] = [each["chunk_id"] for each in found["passages"]]
        self.expected.setdefault(question_id, [])
        assert self.lists[question_id] == self._ask(question_id)[1]

    def committed(self, token: str, cause: str = "") -> None:
        """Ask every question again once the graph includes the token, and note what must be reported."""
        for question_id, before in self.lists.items():
            version, after = self._ask(question_id, token)
            if after != before:
                entered = [chunk for chunk in after if chunk not in before]
                left = [chunk for chunk in before if chunk not in after]
                event = {"version": version, "entered": entered, "left": left, "passages": after, "cause": cause}
                self.expected[question_id].append(event)
                self.lists[question_id] = after

    def _ask(self, question_id: str, after: str = "") -> tuple[int, list[str]]:
        body = {key: value for key, value in self.asked[question_id].items() if key != "answer"}
        body |= {"exact": True, "generate": False} | ({"after": after} if after else {})
        found = self.send("POST", "/query", body)
        return found["version"], [each["chunk_id"] for each in found["passages"]]

    def check(self, question_id: str, events: list[Json]) -> None:
        """Check the events of a question: none is missing, none is more, each is there once, in order."""
        expected = self.expected[question_id]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1)), question_id
        assert [event["version"] for event in events] == [each["version"] for each in expected], question_id
        for event, wanted in zip(events, expected, strict=True):
            assert event["token"] == f"v{wanted['version']}"
            for name in ("entered", "left", "passages"):
                assert [each["chunk_id"] for each in event[name]] == wanted[name], (question_id, name, event)
            if wanted["cause"]:
                assert wanted["cause"] in [cause["doc_id"] for cause in event["causes"]], event


def events_in(text: str) -> list[Json]:
    """Return the data of server-sent events."""
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


QUESTIONS: Mapping[str, Json] = {
    "vector": {"question": "Who repaired the boiler?", "mode": "vector", "top_k": 2},
    "local": {"question": "Who signed the contract for the boiler?"},
    "passages": {"question": "Where does the technician of the boiler live?", "mode": "passages", "top_k": 3},
    "bridge": {"question": "How is Ana Ruiz related to Boris Hale?", "mode": "bridge", "top_k": 2},
    "filtered": {"question": "Who repaired the boiler?", "top_k": 2, "filters": {"sources": ["wire"]}},
    "dated": {"question": "Who repaired the boiler?", "mode": "vector", "filters": {"as_of": "2024"}},
}
PEOPLE = ("Ana Ruiz", "Boris Hale", "Cleo Marsh", "Dina Novak", "Emil Ford")
THINGS = ("boiler", "roof", "pump", "contract", "garden")
DEEDS = ("repaired", "signed for", "sold", "inspected", "painted")
