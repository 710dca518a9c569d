"""Renamed fields of JSON responses: HTTP sends the old names beside the present ones for one release.

Protocol buffers need no old names: a field is known by its number there.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.graph.retrieval.types import AnswerEdge
from graphtide.services.application import Answer, Health, LetterStatus, StatedFact

RENAMED_FIELDS: Mapping[type, Mapping[str, str]] = {
    Answer: {"context_parts": "parts", "mode_reason": "chosen"},
    Health: {"components": "parts"},
    LetterStatus: {"resolution": "settled"},
    StatedFact: {"superseding_value": "instead"},
    AnswerEdge: {"superseding_value": "instead"},
}
"""By type: the old name of each renamed field."""
