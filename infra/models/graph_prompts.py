"""What a graph's documents are read with: the built-in prompt, or what the folder of prompts says for all or for one.

    PROMPTS/extraction.md           a template in the place of the built-in one, for all graphs
    PROMPTS/extraction.toml         entity_types, domain, language: put into the template, for all graphs
    PROMPTS/<graph>/extraction.md   the same for one graph, in the place of those for all
    PROMPTS/<graph>/extraction.toml

A template is words, not a program: three names in braces are filled, once, with nothing from a document. Whatever is
wrong with a file is said at the start, with the file's name. The invariant: other words, another version.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from infra.models.extraction_answer import MOST_ENTITIES, MOST_RELATIONS
from infra.models.prompts import Prompt, filled, words_of
from streams.errors import Broken, Rejected
from streams.messages import split_document_key

PROMPT = "extraction-1"
MOST_CHARS = 20_000
_FILLED = frozenset({"most_entities", "most_relations", "guidance"})
_NEEDED = ("<document-", "entities", "relations", "evidence")
_PLACES = re.compile(r"\{([A-Za-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Guidance:
    """What the documents of a graph are about, in which language it is to be written, which types there are."""

    entity_types: tuple[str, ...] = ()
    domain: str = ""
    language: str = ""

    def words(self) -> str:
        """What is put into the template; nothing, when there is nothing to say."""
        said = [f"- The documents are about {self.domain}."] if self.domain else []
        if self.entity_types:
            types = ", ".join(self.entity_types)
            said.append(
                f"- `type` is one of these, or empty where none fits: {types}. Leave out what has none of them."
            )
        if self.language:
            said.append(
                f"- Write types, predicates and descriptions in {self.language}; names as the passage has them."
            )
        return "\n\nFor these documents:\n\n" + "\n".join(said) if said else ""


@dataclass(frozen=True, slots=True)
class _Source:
    name: str
    template: str
    guidance: Guidance

    def prompt(self) -> Prompt:
        given = {"most_entities": MOST_ENTITIES, "most_relations": MOST_RELATIONS, "guidance": self.guidance.words()}
        return filled(self.name, self.template, given)


def load_prompts(folder: Path | None) -> tuple[Prompt, Mapping[str, Prompt]]:
    """The prompt of all graphs, and those of the graphs that have their own. Raises Broken, naming the file."""
    base = _Source(PROMPT, words_of(PROMPT), Guidance())
    if folder is None:
        return base.prompt(), {}
    if not folder.is_dir():
        raise Broken(f"the folder of prompts {folder} is not there")
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
    template, guidance = folder / "extraction.md", folder / "extraction.toml"
    if template.exists():
        source = replace(source, name="extraction-own", template=_template(template))
    return replace(source, guidance=_guidance(guidance)) if guidance.exists() else source


def _template(file: Path) -> str:
    text = _text(file)
    if len(text) > MOST_CHARS:
        raise Broken(f"{file} has {len(text)} characters; a template has {MOST_CHARS} at most")
    if unknown := sorted(set(_PLACES.findall(text)) - _FILLED):
        raise Broken(f"{file}: {{{unknown[0]}}} is not filled; what is: {', '.join(sorted(_FILLED))}")
    if missing := [word for word in _NEEDED if word not in text]:
        raise Broken(f"{file} does not speak of {missing[0]!r}, which the answer, or the rule about marks, needs")
    return text


def _guidance(file: Path) -> Guidance:
    try:
        said = tomllib.loads(_text(file))
    except tomllib.TOMLDecodeError as error:
        raise Broken(f"{file} is not TOML: {error}") from None
    if unknown := sorted(set(said) - {"entity_types", "domain", "language"}):
        raise Broken(f"{file}: {unknown[0]} is not known; there are entity_types, domain and language")
    types = said.get("entity_types", [])
    if not isinstance(types, list) or not all(isinstance(one, str) and one.strip() for one in types):
        raise Broken(f"{file}: entity_types is a list of words")
    return Guidance(tuple(types), *(_line(file, name, said.get(name, "")) for name in ("domain", "language")))


def _line(file: Path, name: str, value: object) -> str:
    if not isinstance(value, str) or "\n" in value:
        raise Broken(f"{file}: {name} is one line of text")
    return value.strip()


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Broken(f"{file} cannot be read ({error})") from None
