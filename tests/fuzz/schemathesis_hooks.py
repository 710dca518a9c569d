"""Extensions of schemathesis: the serialization of NDJSON, and the reasons why valid requests may be refused.

A request that the description allows is accepted. A refusal is no failure if it states a condition of `CONDITIONS`:
each depends on the state of the graph, or relates two values, which JSON Schema cannot express.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import schemathesis
from schemathesis import Case, HookContext, Response, SerializationContext
from schemathesis.core.failures import Failure

ACCEPTANCE = "RejectedPositiveData"
REFUSAL = "AcceptedNegativeData"
USE_AFTER_DELETION = "UseAfterFree"
GRAPH_DELETION = "DELETE /v1/graphs/[^/]+"


@dataclass(frozen=True, slots=True)
class Condition:
    """A refusal by its status, and by the patterns of its field and message. `reason`: why no schema says it."""

    status: int
    field: str
    message: str
    reason: str

    def explains(self, status: int, error: dict[str, Any]) -> bool:
        """Return True for a refusal that states this condition."""
        field, message = error.get("field", ""), error["message"]
        return status == self.status and bool(re.fullmatch(self.field, field) and re.search(self.message, message))


CONDITIONS = (
    Condition(422, "cursor", "is not a cursor of this listing", "a cursor carries a digest of its listing"),
    Condition(410, "", "is no longer retained", "depends on how long changes are retained"),
    Condition(422, "at|after|token", "has no version [0-9]+; its newest is", "depends on the version of the graph"),
    Condition(422, "at|after|token", "is not a token of graph", "depends on what was published"),
    Condition(422, "delete", "has no live document", "depends on the documents of the graph"),
    Condition(422, "id", "is already resolved|cannot be published again|contains no document", "depends on the letter"),
    Condition(422, "settled", "is the old name of resolved", "parameters of a query exclude each other"),
    Condition(422, r"(filters\.)?as_of|.*occurred_from", "give one of them|is later than", "compares two dates"),
    Condition(422, "publish", "occurs twice", "the ids of two lists differ from each other"),
    Condition(422, "publish", "per passage, .* per document", "the length of a text limits its facts"),
    Condition(422, "mode", "reads reports, which describe the present", "two fields of a question exclude each other"),
    Condition(422, ".*metadata", "more than 64 bits", "in JSON Schema 2**63 and 9.223372036854775808e18 are equal"),
    Condition(422, ".*metadata", "bytes as JSON|nested deeper", "the size and depth of a JSON value of any form"),
)


@schemathesis.serializer("application/x-ndjson")
def write_lines(_: SerializationContext, value: Any) -> bytes:
    """Write a document as a batch of one line, anything else as it is."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.hook
def filter_body(_: HookContext, body: Any) -> bool:
    """Leave out events with `data_base64`: no schema describes the JSON in it. `test_cloud_events.py` sends them."""
    return not _has_encoded_data(body)


def _has_encoded_data(body: Any) -> bool:
    events = body if isinstance(body, list) else [body]
    return any(isinstance(event, dict) and "data_base64" in event for event in events)


@schemathesis.hook
def filter_failure(_: HookContext, failure: Failure, case: Case[Any], response: Response) -> bool:
    """Return False for the refusal of a valid request that states one of the conditions, for that of an invalid
    request that schemathesis does not count as one, and for a deleted graph that is there again: every document that is
    put into it creates it, which schemathesis does not know. `test_python_contract.py` deletes graphs and uses them.
    """
    if type(failure).__name__ == USE_AFTER_DELETION:
        return not re.fullmatch(GRAPH_DELETION, str(getattr(failure, "free", "")))
    if type(failure).__name__ == REFUSAL:
        return bool(response.status_code != HTTPStatus.GONE)  # the request has a second fault, which is reported first
    if type(failure).__name__ != ACCEPTANCE:
        return True
    if _has_encoded_data(case.body):
        return False  # made without `filter_body`
    error = json.loads(response.content)["error"]
    return not any(each.explains(response.status_code, error) for each in CONDITIONS)
