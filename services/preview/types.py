"""Types of previews, for HTTP, gRPC and Python."""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.services.changes.types import Change
from graphtide.services.standing.types import EvidenceItem, QuestionDefinition
from graphtide.streams.messages import DocumentMessage

__all__ = ["Preview", "PreviewRequest", "QuestionPreview"]

MAX_DOCUMENTS = 20
MAX_QUESTIONS = 20
MAX_TEXT_CHARS = 200_000
MAX_PASSAGES = 20_000
"""Limits of one preview: documents to publish and to delete, questions, characters of text, passages of the graph."""


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """Documents to publish and ids of documents to delete, and questions to ask before and after. Each id once."""

    publish: tuple[DocumentMessage, ...] = ()
    delete: tuple[str, ...] = ()
    questions: tuple[QuestionDefinition, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionPreview:
    """The exact evidence of a question before and after the change, best first; `changed`: another ordered list."""

    question: str
    mode: str
    changed: bool
    before: tuple[EvidenceItem, ...]
    after: tuple[EvidenceItem, ...]
    entered: tuple[EvidenceItem, ...]
    left: tuple[EvidenceItem, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """The change that the documents would cause at `version` of the graph; its own version is the next one.

    Revisions, the token and the time are known only when the documents are published: they are 0 and empty.
    """

    version: int
    change: Change
    questions: tuple[QuestionPreview, ...]
