"""Mappings of sources to documents: the settings and the sources file, read once where a process is composed.

A mapping is a table `[[sources]]` of the settings or of a TOML file. Invariant: a mapping that is loaded has
well-formed templates, and a topic of its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from graphtide.infra.sources.templates import Template
from graphtide.streams.errors import Broken
from graphtide.streams.messages import ANSWERS, DEAD_LETTERS, DELTAS, DOCUMENTS, EXTRACTIONS
from graphtide.streams.model_ports import MEDIA_TYPES

Operation = Literal["c", "u", "r", "d", "t", "m"]
Action = Literal["upsert", "delete", "ignore", "reject"]
ACTIONS: Mapping[Operation, Action] = {
    "c": "upsert",
    "u": "upsert",
    "r": "upsert",
    "d": "delete",
    "t": "reject",
    "m": "ignore",
}
"""Debezium's operations: create, update, read by a snapshot, delete, truncate, message."""
UNITS = {"d": 86_400.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_OWN = (EXTRACTIONS, DELTAS, DEAD_LETTERS, ANSWERS)


class SourceMapping(BaseModel):
    """The mapping of one topic. The names in braces are fields of the row, or of a CloudEvent's data.

    The topic `documents` is for values that are published directly: there the record's key, or the address of an
    HTTP request, names graph and document.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topic: str = Field(min_length=1, max_length=249)
    graph: str = Field(min_length=1)
    format: Literal["auto", "debezium", "row", "cloudevents"] = "auto"
    id: str = ""
    text: str = "{text}"
    title: str = "{title?}"
    source: str = ""
    occurred_at: str = ""
    occurred_at_unit: Literal["", "d", "s", "ms", "us", "ns"] = ""
    media_type: str = ""
    metadata: list[str] | dict[str, str] = []
    delete_when: str = ""
    delete_types: list[str] = []
    operations: dict[Operation, Action] = {}

    @field_validator("graph", "id", "text", "title", "source", "occurred_at")
    @classmethod
    def _is_template(cls, value: str) -> str:
        Template(value)
        return value

    @field_validator("topic")
    @classmethod
    def _is_foreign(cls, value: str) -> str:
        if value in _OWN:
            raise ValueError(f"{value} is a topic of Graphtide itself; name a topic that another system writes")
        return value

    @field_validator("media_type")
    @classmethod
    def _is_readable(cls, value: str) -> str:
        if value and value not in MEDIA_TYPES:
            raise ValueError(f"{value!r} is not readable; use one of {', '.join(MEDIA_TYPES)}")
        return value

    @model_validator(mode="after")
    def _has_fields(self) -> SourceMapping:
        if self.topic == DOCUMENTS and Template(self.graph).paths:
            raise ValueError("graph of the topic documents must be a graph's name: the record's key names it")
        if not Template(self.text).paths:
            raise ValueError(f"text {self.text[:40]!r} names no field; write {{column}}")
        if self.metadata and isinstance(self.metadata, dict):
            for value in self.metadata.values():
                Template(value)
        return self

    @cached_property
    def templates(self) -> Templates:
        """Return the parsed templates."""
        return Templates(*map(Template, (self.graph, self.id, self.text, self.title, self.source, self.occurred_at)))

    @cached_property
    def metadata_templates(self) -> Mapping[str, Template | str]:
        """Return the metadata by name: a template, or the path of a field whose JSON value is kept."""
        if isinstance(self.metadata, list):
            return {path.removesuffix("?"): path for path in self.metadata}
        return {name: Template(text) for name, text in self.metadata.items()}

    @cached_property
    def for_events(self) -> SourceMapping:
        """Return the mapping with an event's source and time where it names none."""
        defaults = {"source": self.source or "{@source}", "occurred_at": self.occurred_at or "{@time?}"}
        return self.model_copy(update=defaults)

    @cached_property
    def for_given_identity(self) -> SourceMapping:
        """Return the mapping without fields in graph and id, for values whose address names both."""
        return self.model_copy(update={"graph": "given", "id": "given"})

    def action(self, operation: str) -> Action:
        """Return the action for an operation of Debezium; an unknown one is rejected."""
        return {**ACTIONS, **self.operations}.get(operation, "reject")  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True, slots=True)
class Templates:
    """The parsed templates of a mapping."""

    graph: Template
    id: Template
    text: Template
    title: Template
    source: Template
    occurred_at: Template


class SourcesFile(BaseModel):
    """The content of a sources file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: list[SourceMapping] = []

    @model_validator(mode="after")
    def _are_distinct(self) -> SourcesFile:
        seen: set[tuple[str, str]] = set()
        for mapping in self.sources:
            place = (mapping.topic, mapping.graph if mapping.topic == DOCUMENTS else "")
            if place in seen:
                raise ValueError(f"the topic {mapping.topic} has two mappings; keep one")
            seen.add(place)
        return self

    def topics(self) -> Mapping[str, SourceMapping]:
        """Return the mappings of other systems' topics."""
        return {mapping.topic: mapping for mapping in self.sources if mapping.topic != DOCUMENTS}

    def direct(self) -> Mapping[str, SourceMapping]:
        """Return the mappings of values that are published directly, by graph."""
        return {mapping.graph: mapping for mapping in self.sources if mapping.topic == DOCUMENTS}


def load_sources(file: str, given: Sequence[Mapping[str, object]] = ()) -> SourcesFile:
    """Return the mappings given in the settings, and those in a TOML file, if there is one. Raises Broken."""
    place = f"GRAPHTIDE_SOURCES_FILE names {file}" if file else "GRAPHTIDE_SOURCES is set"
    try:
        found = tomllib.loads(Path(file).read_text(encoding="utf-8")) if file else {}
        found["sources"] = [*given, *found.get("sources", ())]
        return SourcesFile.model_validate(found)
    except OSError as error:
        raise Broken(f"{place}, which cannot be read ({error.strerror})") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "sources"
        raise Broken(f"{place}, which is invalid: {where}: {first['msg']}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
        raise Broken(f"{place}, which is not TOML with tables [[sources]]: {error}") from error
