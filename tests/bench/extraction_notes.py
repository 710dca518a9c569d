"""The share of questions over realistic notes whose answer is in the statements that an extractor makes of them.

A question counts as answered when every group of its required patterns (bench/notes) matches one statement, or two that
share an entity, of the documents that answer it. This measures the graph alone, without retrieval and generation.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphtide.graph.text.place import PassageKind, path_title
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.services.cli.sources import File, Unreadable, read_file
from graphtide.streams.model_ports import ExtractedRelation, Extractor
from tests.support.bench_data import bench_data

_MEDIA_TYPES = {".md": "text/markdown", ".txt": "text/plain", ".csv": "text/csv"}


@dataclass(frozen=True, slots=True)
class NotesScore:
    """Questions with an answer in text files, and those that statements answer; the types of all entities."""

    questions: int
    answered: int
    types: dict[str, int]


def measure_notes(extractor: Extractor) -> NotesScore:
    """Extract all collections, and look for the answers."""
    questions = answered = 0
    types: dict[str, int] = defaultdict(int)
    for folder in sorted(path.parent for path in (bench_data() / "notes").glob("*/questions.jsonl")):
        stated = {path.name: list(_statements(path, extractor, types)) for path in sorted((folder / "docs").iterdir())}
        for line in (folder / "questions.jsonl").read_text().splitlines():
            question = json.loads(line)
            sources = [name for name in question["sources"] if stated.get(name)]
            if question.get("refuse") or not sources or question["type"] == "summary":
                continue
            questions += 1
            answered += _answers([one for name in sources for one in stated[name]], question["must"])
    return NotesScore(questions, answered, dict(sorted(types.items(), key=lambda pair: -pair[1])))


def _statements(path: Path, extractor: Extractor, types: dict[str, int]) -> Iterator[ExtractedRelation]:
    chunker = SemanticChunker()
    for one in _documents(path):
        media_type = _MEDIA_TYPES.get(path.suffix, "")
        title = one.get("title") or chunker.describe(one["text"], media_type).title
        for passage in chunker.split(one["text"], media_type):
            if passage.place.kind != PassageKind.CODE:
                found = asyncio.run(extractor.extract(passage.text, title=path_title(title, passage.place)))
                for entity in found.entities:
                    types[entity.type] += 1
                yield from found.relations


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents of a text file; none of another format."""
    if path.suffix in (".md", ".txt", ".jsonl", ".csv", ".html"):
        for one in read_file(File(path, path.name)):
            if not isinstance(one, Unreadable):
                yield json.loads(one.line)


def _answers(stated: list[ExtractedRelation], must: list[list[str]]) -> bool:
    """Return whether each group has a pattern that matches one statement, or one of two that share an entity."""
    masks: dict[str, set[int]] = defaultdict(set)
    for relation in stated:
        text = f"{relation.subject} {relation.predicate} {relation.object}"
        mask = sum(1 << at for at, group in enumerate(must) if any(_matches(pattern, text) for pattern in group))
        masks[relation.subject].add(mask)
        masks[relation.object].add(mask)
    full = (1 << len(must)) - 1
    return any(one | other == full for found in masks.values() for one in found for other in found)


def _matches(pattern: Any, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None
