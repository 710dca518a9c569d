"""Parser of a model's answer as an extraction of a text: strict, and limited to what the text supports.

An answer of another shape raises MalformedReply; within one of the right shape, unsupported items are left out and
counted. Invariants: every evidence is a slice of the text; names are not blank and bounded; entities are distinct by
name and type, relations by content and time; at most ``MAX_ENTITIES`` and ``MAX_RELATIONS``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from graphtide.infra.models.replies.json_replies import number_of, parsed, well_formed
from graphtide.infra.models.replies.quote_matching import Quotable
from graphtide.infra.models.replies.schemas import Schema
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult

VERSION = 2
"""Part of the extractor's name: to be raised when the schema or its interpretation changes."""

MAX_ENTITIES = 150
MAX_RELATIONS = 200
MAX_NAME_CHARS = 512
MAX_TYPE_CHARS = 64
MAX_DESCRIPTION_CHARS = 2_000
MAX_EVIDENCE_CHARS = 4_000
MAX_TITLE_CHARS = 80
MAX_ABOUT_CHARS = 240
"""Maximum lengths of a passage's title and description."""

_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
_CONTROLS = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)], " ")
_ENTITY = ("name", "type", "description", "evidence")
_RELATION = ("subject", "predicate", "object", "description", "evidence", "valid_from", "valid_to")

Item = Mapping[str, object]


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    closed = {"additionalProperties": False, "required": list(properties)}  # required by strict structured outputs
    return {"type": "object", "properties": dict(properties), **closed}


def _list(items: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": items}


_STRING = {"type": "string"}
SCHEMA = Schema(
    "extraction",
    _object(
        {
            "title": _STRING,
            "description": _STRING,
            "entities": _list(_object(dict.fromkeys(_ENTITY, _STRING))),
            "relations": _list(_object({**dict.fromkeys(_RELATION, _STRING), "strength": {"type": "number"}})),
        }
    ),
)


class MalformedReply(ValueError):  # noqa: N818 - the name states the answer's condition
    """The answer is not an extraction; the message gives the reason, to the model and to human readers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Content of an answer, and the number of items left out by reason."""

    found: ExtractionResult
    dropped: Mapping[str, int]


def read(answer: str, text: str) -> Reading:
    """Return the extraction of ``text`` in ``answer``.

    Raises MalformedReply. Cost: linear in the answer times the text. A title or description that is missing, or no
    text, counts as empty: a user's own template may not request them.
    """
    body = _body(answer)
    entities, relations = _lists(body)
    reader = _Reader(text)
    for item in entities:
        reader.take_entity(item)
    for item in relations:
        reader.take_relation(item)
    if (entities or relations) and not reader.entities and reader.dropped["shape"] == len(entities) + len(relations):
        raise MalformedReply("none of its entities and relations has the fields asked for")
    called = _short(body.get("title"), MAX_TITLE_CHARS), _short(body.get("description"), MAX_ABOUT_CHARS)
    return Reading(ExtractionResult(*reader.found(), *called), dict(reader.dropped))


def joined(first: ExtractionResult, second: ExtractionResult) -> ExtractionResult:
    """Return the results of both; where both found the same, the first one's. Ends of relations are added as
    entities.
    """
    entities = {(item.name, item.type): item for item in (*second.entities, *first.entities)}
    order = dict.fromkeys((item.name, item.type) for item in (*first.entities, *second.entities))
    relations = {_states(item): item for item in (*second.relations, *first.relations)}
    stated = dict.fromkeys(map(_states, (*first.relations, *second.relations)))
    called = first.title or second.title, first.description or second.description
    return ExtractionResult(tuple(entities[key] for key in order), tuple(relations[key] for key in stated), *called)


def _states(relation: ExtractedRelation) -> tuple[object, ...]:
    return relation.subject, relation.predicate, relation.object, relation.valid_from, relation.valid_to


def _body(answer: str) -> Item:
    try:
        body = parsed(_braced(answer))
    except (ValueError, RecursionError) as error:
        raise MalformedReply(f"it is not JSON ({type(error).__name__}: {str(error)[:120]})") from None
    if not isinstance(body, dict):
        raise MalformedReply("it is not a JSON object")
    return body


def _lists(body: Item) -> tuple[list[object], list[object]]:
    found = body.get("entities"), body.get("relations")
    for name, value, limit in zip(("entities", "relations"), found, (MAX_ENTITIES, MAX_RELATIONS), strict=True):
        if not isinstance(value, list):
            raise MalformedReply(f"it has no list of {name}")
        if len(value) > limit:
            raise MalformedReply(f"it has {len(value)} {name}; at most {limit} are allowed")
    return cast(tuple[list[object], list[object]], found)


def _braced(answer: str) -> str:
    """Return the JSON object in the answer, without words before it and code fences."""
    first, last = answer.find("{"), answer.rfind("}")
    if first < 0:
        return answer
    return answer[first : last + 1] if last > first else answer[first:]


class _Reader:
    """State of one answer while it is read."""

    def __init__(self, text: str) -> None:
        self._text = Quotable(text)
        self.entities: dict[tuple[str, str], ExtractedEntity] = {}
        self._names: set[str] = set()
        self._relations: dict[tuple[object, ...], ExtractedRelation] = {}
        self.dropped: Counter[str] = Counter()

    def found(self) -> tuple[tuple[ExtractedEntity, ...], tuple[ExtractedRelation, ...]]:
        return tuple(self.entities.values()), tuple(self._relations.values())

    def take_entity(self, item: object) -> None:
        fields = self._fields(item, _ENTITY, ("name",))
        if fields is None:
            return
        if self._quoted(fields["evidence"]) is None:
            self.dropped["evidence"] += 1
            return
        kind = _line(fields["type"]).lower()
        kind = kind if len(kind) <= MAX_TYPE_CHARS else ""
        self._add(ExtractedEntity(_line(fields["name"]), kind, _line(fields["description"])[:MAX_DESCRIPTION_CHARS]))

    def _add(self, entity: ExtractedEntity) -> None:
        if (entity.name, entity.type) in self.entities:
            self.dropped["duplicate"] += 1
            return
        self.entities[entity.name, entity.type] = entity
        self._names.add(entity.name)

    def take_relation(self, item: object) -> None:
        fields = self._fields(item, _RELATION, ("subject", "predicate", "object"))
        if fields is None:
            return
        evidence = self._quoted(fields["evidence"])
        if evidence is None:
            self.dropped["evidence"] += 1
            return
        subject, predicate, object_ = (_line(fields[name]) for name in ("subject", "predicate", "object"))
        since, until = self._date(fields["valid_from"]), self._date(fields["valid_to"])
        key = (subject, predicate, object_, since, until)
        if key in self._relations:
            self.dropped["duplicate"] += 1
            return
        for name in (subject, object_):
            if name not in self._names:
                self._add(ExtractedEntity(name, ""))
        description = _line(fields["description"])[:MAX_DESCRIPTION_CHARS]
        weight = _weight(cast(Item, item).get("strength"))
        self._relations[key] = ExtractedRelation(
            subject, predicate, object_, description, weight, evidence, since, until
        )

    def _fields(self, item: object, names: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, str] | None:
        """Return the fields as strings; None, and counted, when a required one is missing, blank or too long."""
        if not isinstance(item, dict) or any(not isinstance(item.get(name), str) for name in (*needed, "evidence")):
            self.dropped["shape"] += 1
            return None
        fields = {name: value if isinstance(value := item.get(name), str) else "" for name in names}
        if any(not _line(fields[name]) for name in needed):
            self.dropped["blank"] += 1
            return None
        if any(len(fields[name]) > MAX_NAME_CHARS for name in needed):
            self.dropped["length"] += 1
            return None
        return fields

    def _quoted(self, evidence: str) -> str | None:
        return None if len(evidence) > MAX_EVIDENCE_CHARS else self._text.find(evidence)

    def _date(self, text: str) -> str | None:
        date = text.strip()
        if date and _DATE.fullmatch(date) is None:
            self.dropped["date"] += 1
            return None
        return date or None


def _line(text: str) -> str:
    """Return one line of valid UTF-8 without control characters."""
    return " ".join(well_formed(text).translate(_CONTROLS).split())


def _short(value: object, max_chars: int) -> str:
    """Return at most `max_chars` characters of a line, ending at the end of a word."""
    text = _line(value) if isinstance(value, str) else ""
    return text if len(text) <= max_chars else text[: max_chars - 1].rsplit(" ", 1)[0].rstrip(",;:") + "\u2026"


def _weight(strength: object) -> float:
    """Return the strength in thousandths above 0 up to 1; a value that is not a number counts as 1."""
    weight = number_of(strength, 0.001, 1.0)
    return 1.0 if weight is None else weight
