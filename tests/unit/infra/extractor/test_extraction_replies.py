"""Extraction by a language model: what is accepted of a reply."""

from __future__ import annotations

import json

import pytest
from prometheus_client import CollectorRegistry

from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult
from tests.support import llm_faults as fake
from tests.support.endpoints import Fault
from tests.support.extractor_replies import TEXT, TITLE, dropped, entity, extraction_of, relation
from tests.support.llm_server import LlmServer


async def test_extraction_takes_fields_as_they_are_meant(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Types become lower case, blanks collapse, ends without an entity get one, validity and strength are kept."""
    found = await extraction_of(
        server, extractor, {"entities": [entity(" Ida \n Moreau", "Person")], "relations": [relation()]}
    )
    assert found.entities == (ExtractedEntity("Ida Moreau", "person"), ExtractedEntity("Halden Station", ""))
    evidence = TEXT.partition(" Aurora")[0]
    assert found.relations == (
        ExtractedRelation("Ida Moreau", "founded", "Halden Station", "", 0.9, evidence, "1961", None),
    )


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        (" Polar\nresearch\u0000 ", "Polar research"),
        ("word " * 40, "word " * 14 + "word\u2026"),
        ("x" * 300, "x" * 79 + "\u2026"),
        ("\ud800 on ice", "? on ice"),
        (["Polar"], ""),
        (None, ""),
    ],
)
async def test_extraction_takes_a_title_as_one_bounded_line(
    server: LlmServer, extractor: OpenAIExtractor, title: object, expected: str
) -> None:
    """A text that is too long ends after a word; a value of another type is left out, and the rest of the answer is
    kept.
    """
    found = await extraction_of(server, extractor, {"title": title, "entities": [], "relations": [relation()]})
    assert (found.title, found.description) == (expected, "") and found.relations


async def test_extraction_has_title_and_description_at_no_call_of_their_own(
    server: LlmServer, extractor: OpenAIExtractor
) -> None:
    """The schema asks for title and description; the memo stores them, and reads entries without them."""
    store = MemoryVectorStore()
    memo = MemoisedExtractor(extractor, store)
    found = await memo.extract(TEXT, title=TITLE)
    assert (found.title, found.description) == (f"On {TITLE}", TEXT.partition(" Aurora")[0])
    assert await memo.extract(TEXT, title=TITLE) == found and len(server.seen) == 1
    [key] = store.keys()
    kept = json.loads((await store.get_many([key]))[key])
    await store.put_many({key: json.dumps(kept[:2]).encode()})
    assert (
        await memo.extract(TEXT, title=TITLE) == ExtractionResult(found.entities, found.relations)
        and len(server.seen) == 1
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("strength", "weight"),
    [(0, 0.001), (-3, 0.001), (7, 1.0), ("high", 1.0), (None, 1.0), (True, 1.0), (0.25, 0.25), (10**400, 1.0)],
)
async def test_extraction_bounds_the_strength(
    server: LlmServer, extractor: OpenAIExtractor, strength: object, weight: float
) -> None:
    """A weight is above 0 and at most 1, whatever the strength; a value that is not a number counts as 1."""
    found = await extraction_of(server, extractor, {"entities": [], "relations": [relation(strength=strength)]})
    assert found.relations[0].weight == weight


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (relation(evidence="Ida Moreau never founded anything."), "evidence"),
        (relation(evidence=""), "evidence"),
        (relation(evidence=None), "shape"),
        (relation(subject=["Ida"]), "shape"),
        (relation(predicate=" \u0000"), "blank"),
        (relation(object="x" * 600), "length"),
        (relation(), "duplicate"),
        ("Ida founded it", "shape"),
    ],
)
async def test_extraction_drops_and_counts_what_the_text_does_not_bear_out(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry, item: object, reason: str
) -> None:
    """An invalid item is left out alone, and counted by reason."""
    found = await extraction_of(
        server, extractor, {"entities": [entity("Ida Moreau")], "relations": [relation(), item]}
    )
    assert len(found.relations) == 1 and dropped(registry, reason) == 1
    assert len(server.seen) == 1


async def test_extraction_keeps_a_relation_whose_date_is_none(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry
) -> None:
    """A date in words is left out; the statement is kept without it."""
    found = await extraction_of(server, extractor, {"entities": [], "relations": [relation(valid_from="the sixties")]})
    assert found.relations[0].valid_from is None and dropped(registry, "date") == 1


async def test_extraction_survives_strange_strings(server: LlmServer, extractor: OpenAIExtractor) -> None:
    """Lone surrogates, control characters and zero bytes cannot be stored: they are replaced."""
    raw = (
        '{"entities": [{"name": "Ida\\ud800\\u0000 Moreau", "type": "", "description": "a\\u001fb", "evidence": "Ida"}]'
    )
    found = await extraction_of(
        server, extractor, raw + ', "relations": [], "graph": "other", "delete": ["everything"]}'
    )
    assert found == ExtractionResult((ExtractedEntity("Ida? Moreau", "", "a b"),))


@pytest.mark.parametrize("fault", [fake.FENCED, fake.NO_USAGE, fake.DUPLICATED, fake.EMPTIED, fake.ODD_FIELDS])
async def test_extraction_gives_the_same_when_an_answer_is_untidy(
    server: LlmServer, extractor: OpenAIExtractor, fault: Fault
) -> None:
    """Words around JSON, missing usage, duplicates, blank or strange items: the valid rest is accepted, in one call."""
    right = await extractor.extract(TEXT, title=TITLE)
    server.misbehave(fault)
    assert await extractor.extract(TEXT, title=TITLE) == right
    assert len(server.seen) == 2 and right.relations


async def test_extraction_keeps_no_relation_without_evidence(
    server: LlmServer, extractor: OpenAIExtractor, registry: CollectorRegistry
) -> None:
    """Sentences that the model invented are not in the text, and items that cite them are left out."""
    server.misbehave(fake.UNBORNE)
    found = await extractor.extract(TEXT, title=TITLE)
    assert found.relations == () and found.entities and dropped(registry, "evidence") > 0
