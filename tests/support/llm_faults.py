"""Faults of one answer of a language model: each fault spoils one request of an `LlmServer`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.endpoints import DROPPED, NOT_JSON, SLOW, Fault, status
from tests.support.recorded import Json


def _content(change: Callable[[str], str], finish: str = "stop") -> Fault:
    """Return a fault that changes the text of the model's answer."""

    def edit(answer: dict[str, Any]) -> object:
        choice = answer["choices"][0]
        choice["message"]["content"] = change(choice["message"]["content"])
        choice["finish_reason"] = finish
        return answer

    return Fault(edit=edit)


def _extraction(change: Callable[[Json], object]) -> Fault:
    """Return a fault that changes the extraction in the model's answer."""
    return _content(lambda content: json.dumps(change(json.loads(content))))


def _flood(found: Json) -> Json:
    names = [f"Entity {number}" for number in range(10_000)]
    evidence = found["entities"][0]["evidence"] if found["entities"] else "x"
    entities = [{"name": name, "type": "", "description": "", "evidence": evidence} for name in names]
    return {**found, "entities": entities}


def _emptied(found: Json) -> Json:
    blank = [{**item, "name": " "} for item in found["entities"]]
    hollow = [{**item, "predicate": "", "subject": "\u0000"} for item in found["relations"]]
    return {**found, "entities": [*blank, *found["entities"]], "relations": [*hollow, *found["relations"]]}


def _unborne(found: Json) -> Json:
    content = [{**item, "evidence": "This sentence occurs in no document."} for item in found["relations"]]
    return {**found, "relations": content}


def _odd_fields(found: Json) -> Json:
    strange: list[object] = [None, 7, "relation", {"subject": 1}, {"subject": "A", "predicate": ["b"], "object": {}}]
    return {**found, "entities": [*strange, *found["entities"]], "relations": [*strange, *found["relations"]]}


CUT_OFF = _content(lambda content: content[: len(content) // 2], "length")
MALFORMED = _content(lambda content: content.replace(":", ";"))
FENCED = _content(lambda content: f"Here you are:\n```json\n{content}\n```\nAnything else?")
WRONG_SCHEMA = _extraction(lambda found: {"nodes": found["entities"], "edges": found["relations"]})
A_LIST = _extraction(lambda found: [found])
FLOOD = _extraction(_flood)
DUPLICATED = _extraction(lambda found: {**found, **{key: found[key] * 3 for key in ("entities", "relations")}})
EMPTIED = _extraction(_emptied)
UNBORNE = _extraction(_unborne)
ODD_FIELDS = _extraction(_odd_fields)
EMPTY = _content(lambda content: "")
FILTERED = _content(lambda content: "", "content_filter")
NO_CHOICES = Fault(body=b'{"object": "chat.completion", "choices": []}')
NO_USAGE = Fault(edit=lambda answer: {key: value for key, value in answer.items() if key != "usage"})
FAULTS = {
    "slow": SLOW,
    "dropped": DROPPED,
    "not-json": NOT_JSON,
    "429": status(429, retry_after="1"),
    "500": status(500),
    "503": status(503),
    "cut-off": CUT_OFF,
    "malformed": MALFORMED,
    "wrong-schema": WRONG_SCHEMA,
    "flood": FLOOD,
    "duplicated": DUPLICATED,
    "emptied": EMPTIED,
    "unborne": UNBORNE,
}
