"""Prompts of a graph's models: the built-in ones, or overrides in the prompts folder for all graphs or for one.

    PROMPTS/extraction.md           a template that replaces the built-in one, for all graphs
    PROMPTS/extraction.toml         entity_types, domain, language: filled into the template, for all graphs
    PROMPTS/<graph>/extraction.md   the same for one graph; it replaces those for all
    PROMPTS/<graph>/extraction.toml

The same applies to `answer` (`answer-part.md` is the template for one part of a long answer, `answer.toml` holds for
both), `report` and `entity`, whose .toml takes domain and language. A template has no control structures: its names in
braces are filled, once, with nothing from a document. Every error in a file is reported at the start, with the file's
name. Invariant: a prompt with other words has another version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from graphtide.graph.entity_descriptions import MAX_TOKENS
from graphtide.infra.models.prompts.templates import (
    MAX_FINDINGS,
    MAX_SENTENCES,
    NOTHING_FITS,
    Prompt,
    filled,
    words_of,
)
from graphtide.infra.models.replies.extraction_parser import MAX_ENTITIES, MAX_RELATIONS
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.messages import split_document_key

MAX_CHARS = 20_000
_PLACES = re.compile(r"\{([A-Za-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Guidance:
    """Domain of a graph's documents, language of the output, and allowed entity types."""

    entity_types: tuple[str, ...] = ()
    domain: str = ""
    language: str = ""

    def words(self, write: str) -> str:
        """Return the text filled into the template; "" without any guidance. `write` is the part that has a
        language.
        """
        lines = [f"- The documents are about {self.domain}."] if self.domain else []
        if self.entity_types:
            types = ", ".join(self.entity_types)
            lines.append(
                f"- `type` is one of these, or empty where none fits: {types}. Leave out what has none of them."
            )
        if self.language:
            lines.append(f"- Write {write.format(language=self.language)}.")
        return "\n\nFor these documents:\n\n" + "\n".join(lines) if lines else ""


@dataclass(frozen=True, slots=True)
class PromptKind:
    """A prompt that a folder may override: its files' names, its values, and the words a template must contain."""

    file: str
    guide: str
    built_in: str
    given: Mapping[str, object]
    needed: tuple[str, ...]
    write: str
    keys: tuple[str, ...] = ("domain", "language")


EXTRACTION = PromptKind(
    "extraction",
    "extraction",
    "extraction-2",
    {"most_entities": MAX_ENTITIES, "most_relations": MAX_RELATIONS},
    ("<document-", "entities", "relations", "evidence"),
    "types, predicates and descriptions in {language}; names as the passage has them",
    ("entity_types", "domain", "language"),
)
ANSWER = PromptKind(
    "answer",
    "answer",
    "answer-2",
    {"nothing": NOTHING_FITS},
    ("<passage-", "<text-", "[1]", "{nothing}"),
    "in {language}, whatever the question's language is",
)
ANSWER_PART = PromptKind(
    "answer-part",
    "answer",
    "answer-part-1",
    {},
    ("<text-", "[1]", "answer", "helpfulness"),
    ANSWER.write,
)
REPORT = PromptKind(
    "report",
    "report",
    "report-1",
    {"findings": MAX_FINDINGS},
    ("<community-", "title", "summary", "rating", "findings", "sources"),
    "in {language}, names as the material has them",
)

ENTITY = PromptKind(
    "entity",
    "entity",
    "entity-1",
    {"sentences": MAX_SENTENCES, "tokens": MAX_TOKENS},
    ("<entity-", "sentences", "text", "sources"),
    "in {language}, names as the material has them",
)


@dataclass(frozen=True, slots=True)
class ByGraph:
    """The prompt of all graphs, and those of the graphs with their own."""

    default: Prompt
    own: Mapping[str, Prompt] = field(default_factory=dict)

    def of(self, graph: str) -> Prompt:
        return self.own.get(graph, self.default)


@dataclass(frozen=True, slots=True)
class _Source:
    kind: PromptKind
    name: str
    template: str
    guidance: Guidance

    def prompt(self) -> Prompt:
        return filled(self.name, self.template, {**self.kind.given, "guidance": self.guidance.words(self.kind.write)})


def prompts_by_graph(folder: Path | None, kind: PromptKind) -> ByGraph:
    """Load the prompts of any kind, see `load_prompts`."""
    return ByGraph(*load_prompts(folder, kind))


def load_prompts(folder: Path | None, kind: PromptKind = EXTRACTION) -> tuple[Prompt, Mapping[str, Prompt]]:
    """Return the prompt of all graphs, and those of the graphs with their own. Raises Broken, with the file's name."""
    base = _Source(kind, kind.built_in, words_of(kind.built_in), Guidance())
    if folder is None:
        return base.prompt(), {}
    if not folder.is_dir():
        raise Broken(f"the folder of prompts {folder} does not exist: create it, or correct GRAPHTIDE_PROMPTS_DIR")
    base = _overridden(base, folder)
    graphs = {entry.name: _overridden(base, entry) for entry in sorted(folder.iterdir()) if entry.is_dir()}
    for name in graphs:
        _check_name(folder / name)
    return base.prompt(), {graph: source.prompt() for graph, source in graphs.items()}


def _check_name(folder: Path) -> None:
    try:
        split_document_key(f"{folder.name}|x")
    except Rejected as error:
        raise Broken(f"{folder}: a folder of prompts is named for its graph, and {error}") from None


def _overridden(source: _Source, folder: Path) -> _Source:
    kind = source.kind
    template, guidance = folder / f"{kind.file}.md", folder / f"{kind.guide}.toml"
    if template.exists():
        source = replace(source, name=f"{kind.file}-own", template=_template(template, kind))
    return replace(source, guidance=_guidance(guidance, kind)) if guidance.exists() else source


def _template(file: Path, kind: PromptKind) -> str:
    text = _text(file)
    if len(text) > MAX_CHARS:
        raise Broken(f"{file} has {len(text)} characters; at most {MAX_CHARS} are allowed")
    known = {*kind.given, "guidance"}
    if unknown := sorted(set(_PLACES.findall(text)) - known):
        raise Broken(f"{file}: {{{unknown[0]}}} is an unknown name; known are {', '.join(sorted(known))}")
    if missing := [word for word in kind.needed if word not in text]:
        raise Broken(f"{file} does not contain {missing[0]!r}, which the answer, or the rule about marks, needs")
    return text


def _guidance(file: Path, kind: PromptKind) -> Guidance:
    try:
        table = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise Broken(f"{file} is not TOML: {error}") from None
    if unknown := sorted(set(table) - set(kind.keys)):
        there = " and ".join((", ".join(kind.keys[:-1]), kind.keys[-1]))
        raise Broken(f"{file}: {unknown[0]} is an unknown key; known are {there}")
    types = table.get("entity_types", [])
    if not isinstance(types, list) or not all(isinstance(type_, str) and type_.strip() for type_ in types):
        raise Broken(f"{file}: entity_types must be a list of words")
    return Guidance(tuple(types), *(_line(file, name, table.get(name, "")) for name in ("domain", "language")))


def _line(file: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or "\n" in value:
        raise Broken(f"{file}: {name} must be one line of text")
    return value.strip()


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Broken(f"{file} cannot be read ({error})") from None
