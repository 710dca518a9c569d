"""Records of standing questions: what was registered, the evidence at a version, and the events.

Invariant: no record holds text of a document; passages are named, so that a deleted document leaves no text behind. The
answer of an event is deleted with the next event, because a change of its sources causes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any

from graphtide.graph.retrieval.options.fields import Options, options_from_json, options_json
from graphtide.graph.retrieval.types import Filters
from graphtide.graph.standing.types import Evidence, EvidencePassage

MAX_QUESTION_ID_CHARS = 128


@dataclass(frozen=True, slots=True)
class QuestionDefinition:
    """A registered question. `answer`: a language model writes an answer at every event, under the graph's budget."""

    id: str
    question: str
    mode: str = "local"
    top_k: int = 5
    filters: Filters = field(default_factory=Filters)
    answer: bool = False
    options: Options = ()

    def encode(self) -> str:
        """Return the definition without its id, as JSON."""
        body: dict[str, Any] = {"question": self.question, "mode": self.mode, "top_k": self.top_k}
        body |= {"filters": filters_json(self.filters)} if self.filters != Filters() else {}
        body |= {"options": options_json(self.options)} if self.options else {}
        return _dump(body | ({"answer": True} if self.answer else {}))

    @classmethod
    def decode(cls, id_: str, text: str) -> QuestionDefinition:
        """Return the definition that `encode` wrote."""
        body = json.loads(text)
        body["options"] = options_from_json(body.get("options", {}))
        return cls(id_, **body | {"filters": _filters(body.get("filters", {}))})


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """A question with its state. `version` is 0 until it is evaluated for the first time.

    `version` and `changed_ms` are those of the last event, or of the registration; the evidence is that of every
    version since. `seq` is the number of the last event. `answer` belongs to the event `answer_seq`.
    """

    definition: QuestionDefinition
    version: int = 0
    changed_ms: int = 0
    seq: int = 0
    evidence: Evidence = ()
    answer: str = ""
    answer_seq: int = 0


@dataclass(frozen=True, slots=True)
class Cause:
    """A revision that was applied by the commit that changed the evidence."""

    doc_id: str
    revision: int


@dataclass(frozen=True, slots=True)
class QuestionEvent:
    """A change of the evidence of a question. `passages` is the new evidence, best first.

    `answer_due` is True while the answer is being written; the event is shown to readers after that.
    """

    question_id: str
    seq: int
    version: int
    occurred_ms: int
    causes: tuple[Cause, ...]
    entered: Evidence
    left: Evidence
    passages: Evidence
    answer: str = ""
    answer_due: bool = False

    @property
    def token(self) -> str:
        """Return the token of the commit: a query or a change feed resumes after it."""
        return f"v{self.version}"

    def encode(self) -> str:
        """Return the causes and passages as JSON. Entered passages are named by their places among the passages."""
        known = {passage.chunk_id for passage in self.entered}
        entered = [place for place, passage in enumerate(self.passages) if passage.chunk_id in known]
        left, passages = dump_evidence(self.left), dump_evidence(self.passages)
        return f'{{"entered":{entered},"left":{left},"passages":{passages},"causes":{_dump_causes(self.causes)}}}'


@dataclass(frozen=True, slots=True)
class EvaluatedQuestion:
    """A question's evidence at a version, to be stored. `causes` None: its first evaluation, which is no event.

    `definition` is the encoded definition that was evaluated: a store passes over the evaluation of another one than it
    holds. "" admits any.
    """

    question_id: str
    after: Evidence
    causes: tuple[Cause, ...] | None = None
    answer: bool = False
    definition: str = ""


def decode_event(
    question_id: str, seq: int, version: int, occurred_ms: int, body: str, answer: str, answer_due: bool
) -> QuestionEvent:
    """Return the event of its stored columns."""
    parts = json.loads(body)
    causes = tuple(Cause(doc_id, revision) for doc_id, revision in parts["causes"])
    left, passages = decode_evidence(parts["left"]), decode_evidence(parts["passages"])
    entered = tuple(passages[each] if isinstance(each, int) else EvidencePassage(*each) for each in parts["entered"])
    return QuestionEvent(
        question_id, seq, version, occurred_ms, causes, entered, left, passages, answer, bool(answer_due)
    )


def encode_evidence(evidence: Evidence) -> list[list[Any]]:
    """Return the passages as lists."""
    return [[passage.doc_id, passage.chunk_id, passage.score] for passage in evidence]


def dump_evidence(evidence: Evidence) -> str:
    """Return `encode_evidence` as JSON. A commit stores hundreds: a general encoder takes longer."""
    return f"[{','.join([f'[{_dump_names(each.doc_id, each.chunk_id)},{each.score!r}]' for each in evidence])}]"


@lru_cache(maxsize=4096)
def _dump_names(doc_id: str, chunk_id: str) -> str:
    return f"{encode_basestring(doc_id)},{encode_basestring(chunk_id)}"


@lru_cache(maxsize=8)
def _dump_causes(causes: tuple[Cause, ...]) -> str:
    """Return the causes as JSON. All events of a commit have the same."""
    return f"[{','.join(f'[{encode_basestring(cause.doc_id)},{cause.revision}]' for cause in causes)}]"


def decode_evidence(rows: list[list[Any]]) -> Evidence:
    """Return the passages of `encode_evidence`."""
    return tuple(EvidencePassage(*row) for row in rows)


def filters_json(filters: Filters) -> dict[str, Any]:
    """Return the conditions that are set, in the form of a request."""
    body: dict[str, Any] = {each.name: getattr(filters, each.name) for each in fields(filters)}
    body["metadata"] = dict(filters.metadata)
    body |= {name: list(body[name]) for name in ("doc_ids", "sources")}
    return {name: value for name, value in body.items() if value}


def _filters(body: Mapping[str, Any]) -> Filters:
    lists = {name: tuple(body[name]) for name in ("doc_ids", "sources") if name in body}
    metadata = {"metadata": tuple(body["metadata"].items())} if "metadata" in body else {}
    return Filters(**{**body, **lists, **metadata})


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
