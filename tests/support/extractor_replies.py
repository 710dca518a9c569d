"""Replies of a language model that extracts from one text, and what becomes of them."""

from __future__ import annotations

import json

from prometheus_client import CollectorRegistry

from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.streams.model_ports import ExtractionResult
from tests.support.llm_server import LlmServer

KEY = "sk-very-secret-0123456789"
TITLE = "Halden Station"
TEXT = "Halden Station is a research station on Skarv Island, founded in 1961 by Ida Moreau. Aurora carried Tor Ruud."


def dropped(registry: CollectorRegistry, reason: str) -> float:
    return registry.get_sample_value("graphtide_extraction_items_dropped_total", {"reason": reason}) or 0


async def extraction_of(server: LlmServer, extractor: OpenAIExtractor, answer: object) -> ExtractionResult:
    """Return the extraction of this answer."""
    server.says = lambda seen: answer if isinstance(answer, str) else json.dumps(answer)
    return await extractor.extract(TEXT, title=TITLE)


def entity(name: str, type_: str = "person", evidence: str = "Ida Moreau") -> dict[str, str]:
    return {"name": name, "type": type_, "description": "", "evidence": evidence}


def relation(**changed: object) -> dict[str, object]:
    whole: dict[str, object] = {"subject": "Ida Moreau", "predicate": "founded", "object": "Halden Station"}
    whole |= {"description": "", "strength": 0.9, "evidence": TEXT.partition(" Aurora")[0]}
    return {**whole, "valid_from": "1961", "valid_to": "", **changed}
