"""Contract of every model adapter, whatever the implementation: one suite for all of them."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from graphtide.graph.text.token_count import count_tokens
from graphtide.infra.models.cache.embeddings import MemoisedEmbedder, MemoryVectorStore
from graphtide.infra.models.cache.extractions import MemoisedExtractor
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.cross_encoder.encoder import MiniLmCrossEncoder
from graphtide.infra.models.local.extractor import OfflineExtractor, ParsingExtractor
from graphtide.infra.models.local.generator import ExtractiveGenerator
from graphtide.infra.models.local.hashing_embedder import HashingEmbedder
from graphtide.infra.models.local.minilm_embedder import MiniLmEmbedder
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.infra.models.local.unit_reader import UnitReader
from graphtide.infra.models.openai.chat import ChatEndpoint, OpenAIChat
from graphtide.infra.models.openai.embedder import EmbeddingEndpoint, OpenAIEmbedder
from graphtide.infra.models.openai.extractor import OpenAIExtractor
from graphtide.infra.models.openai.generator import OpenAIGenerator
from graphtide.streams.model_ports import (
    Chunker,
    ContextPart,
    ContextPassage,
    Embedder,
    Extractor,
    Generated,
    Generator,
    citable,
)
from tests.support.llm_server import LlmServer
from tests.support.openai_server import OpenAIServer

PROSE = (
    "Halden Station is a research station on Skarv Island, founded in 1961 by Ida Moreau. "
    "The vessel Aurora carried Tor Ruud to Skarv Island on 12 March 1962.\n\n"
    "In 1974 the drill reached 3,260 metres. It was built in Bergen."
)
ODD = {
    "empty": "",
    "blank": " \n\t ",
    "nul": "Halden\0Station was founded\0in 1961.",
    "zero-width": "Halden\u200bStation\u200d was \u2060founded in 1961.",
    "right-to-left": "\u05ea\u05d7\u05e0\u05ea \u05d4\u05dc\u05d3\u05df \u202e1961\u202c \u05e0\u05d5\u05e1.",
    "lone surrogate": "Halden \ud800 Station was founded in 1961.",
    "combining": "Ange\u0301la Mu\u0308ller founded Zu\u0308rich Station in 1961.",
    "emoji": "\U0001f9ca" * 50,
    "no spaces": "x" * 20_000,
    "no words": ".,;:!?" * 3_000,
    "widening gaps": "".join("a" + " " * gap for gap in range(1, 200)),
    "brackets": "(" * 5_000 + "Halden" + ")" * 5_000,
    "capitals": "Halden Station " * 2_000,
    "dashes": "- " * 8_000,
}


@pytest.fixture(params=["static", "minilm", "hashing", "openai", "openai-float", "memoised"])
async def embedder(request: pytest.FixtureRequest) -> AsyncIterator[Embedder]:
    """Yield each Embedder in turn, the ones that need an endpoint with a real one on loopback."""
    local = {"static": StaticEmbedder, "minilm": MiniLmEmbedder, "hashing": HashingEmbedder}
    if request.param in local:
        yield local[request.param]()
        return
    with OpenAIServer(gives_base64=request.param != "openai-float") as server:
        endpoint = OpenAIEmbedder(EmbeddingEndpoint(server.base_url, "test-model", "sk-test", batch_texts=3))
        yield MemoisedEmbedder(endpoint, MemoryVectorStore()) if request.param == "memoised" else endpoint
        await endpoint.close()


@asynccontextmanager
async def language_model(*refuses: str) -> AsyncIterator[OpenAIChat]:
    """Yield a language model behind a real endpoint on loopback, which does not know the parameters ``refuses``."""
    with LlmServer(refuses=refuses) as server:
        chat = OpenAIChat(ChatEndpoint(server.base_url, "test-model", "sk-test"))
        try:
            yield chat
        finally:
            await chat.close()


@pytest.fixture(params=["offline", "parser", "openai", "openai-json-mode", "openai-plain", "openai-memoised"])
async def extractor(request: pytest.FixtureRequest) -> AsyncIterator[Extractor]:
    """Yield each Extractor in turn, the ones that need an endpoint with a real one on loopback."""
    if request.param == "offline":
        yield OfflineExtractor()
        return
    if request.param == "parser":
        yield ParsingExtractor()
        return
    refuses = {"openai-json-mode": ("json_schema",), "openai-plain": ("response_format",)}
    async with language_model(*refuses.get(request.param, ())) as chat:
        endpoint = OpenAIExtractor(chat)
        yield MemoisedExtractor(endpoint, MemoryVectorStore()) if request.param == "openai-memoised" else endpoint


@pytest.fixture(params=["extractive", "extractive+embedder", "extractive+cross-encoder", "openai"])
async def generator(request: pytest.FixtureRequest) -> AsyncIterator[Generator]:
    """Yield each Generator in turn."""
    if request.param != "openai":
        reads = request.param == "extractive+cross-encoder"
        yield ExtractiveGenerator(
            HashingEmbedder() if request.param == "extractive+embedder" else None,
            reader=UnitReader(MiniLmCrossEncoder(), StaticEmbedder()) if reads else None,
        )
        return
    async with language_model() as chat:
        yield OpenAIGenerator(chat)


@pytest.fixture(params=[8, 40, 300])
def chunker(request: pytest.FixtureRequest) -> Chunker:
    """Yield the Chunker at several sizes."""
    return SemanticChunker(request.param)


async def test_embedder_gives_unit_rows_in_order_for_any_texts(embedder: Embedder) -> None:
    """Row i belongs to text i: the same text alone, or elsewhere in a list, has the same row."""
    texts = [PROSE, "the drill", "", "Bergen", "the drill", *list(ODD.values())[2:7]]
    rows = await embedder.embed(texts)
    assert rows.shape == (len(texts), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    alone = await embedder.embed(["Bergen"])
    assert np.array_equal(alone[0], rows[3])
    assert np.array_equal(rows[1], rows[4])
    assert not np.allclose(rows[0], rows[1])


async def test_embedder_gives_no_rows_when_there_are_no_texts(embedder: Embedder) -> None:
    """An empty list is an empty matrix, of the right width once that is known."""
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)
    await embedder.embed(["x"])
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)
    assert embedder.dimensions > 0


async def test_embedder_gives_finite_rows_for_odd_texts(embedder: Embedder) -> None:
    """Blank, broken and huge texts still have a valid vector."""
    rows = await embedder.embed(list(ODD.values()))
    assert np.isfinite(rows).all()
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


async def test_embedder_has_a_name_and_satisfies_the_port(embedder: Embedder) -> None:
    """The name may key a cache, so it is not blank, and contains no secret."""
    assert isinstance(embedder, Embedder)
    assert embedder.name.strip() and "sk-test" not in embedder.name + repr(embedder)


@pytest.mark.thorough
@pytest.mark.parametrize("case", ["prose", *ODD])
async def test_extractor_says_only_what_is_written(extractor: Extractor, case: str) -> None:
    """Evidence is verbatim, names occur in the text or its title, ends of relations are entities, weights in (0, 1]."""
    text = {"prose": PROSE, **ODD}[case]
    found = await extractor.extract(text, title="Halden Station")
    written = " ".join(f"{text}\nHalden Station".split()).casefold()
    names = {entity.name for entity in found.entities}
    keys = [(entity.name, entity.type) for entity in found.entities]
    assert len(keys) == len(set(keys))
    for entity in found.entities:
        assert entity.name.strip() and entity.type == entity.type.lower()
        assert entity.type == "date" or entity.name.casefold() in written
    for relation in found.relations:
        assert {relation.subject, relation.object} <= names
        assert relation.evidence in text
        assert relation.predicate.strip() and 0 < relation.weight <= 1


async def test_extractor_finds_what_plain_sentences_state(extractor: Extractor) -> None:
    """There are three facts that every extractor must find."""
    found = await extractor.extract(PROSE, title="Halden Station")
    pairs = {(relation.subject, relation.object) for relation in found.relations}
    assert {("Halden Station", "Ida Moreau"), ("Halden Station", "Skarv Island"), ("Aurora", "Tor Ruud")} <= pairs


async def test_extractor_gives_the_same_for_the_same_text(extractor: Extractor) -> None:
    """A replayed document contributes the same again."""
    first = await extractor.extract(PROSE, title="Halden Station")
    assert first == await extractor.extract(PROSE, title="Halden Station")
    assert first.entities and isinstance(extractor, Extractor) and extractor.name.strip()


CONTEXT = (
    ContextPassage("Penguins eat krill. They swim well.", "Penguins", "d1", "c1"),
    ContextPassage(PROSE, "Halden Station", "d2", "c2"),
)


async def test_generator_answers_from_the_passage_that_knows(generator: Generator) -> None:
    """The answer cites the passage that states it, by index and by marker."""
    answer = await generator.answer("Who founded Halden Station?", CONTEXT)
    assert "Ida Moreau" in answer.text
    assert answer.cited == (1,) and "[2]" in answer.text


@pytest.mark.parametrize("question", ["What is the boiling point of tungsten?", "", "???", "the of and"])
async def test_generator_says_so_when_nothing_fits(generator: Generator, question: str) -> None:
    """Without a matching passage the answer cites nothing and claims nothing."""
    for context in ((), CONTEXT):
        answer = await generator.answer(question, context)
        assert answer.text and answer.cited == ()
        assert "Ida Moreau" not in answer.text and "krill" not in answer.text


async def test_generator_streams_the_same_answer_in_pieces(generator: Generator) -> None:
    """The joined pieces are the text of the last item, which equals the answer without streaming."""
    items = [item async for item in generator.stream("Who founded Halden Station?", CONTEXT)]
    whole = items[-1]
    assert isinstance(whole, Generated)
    assert "".join(item for item in items[:-1] if isinstance(item, str)) == whole.text
    assert whole == await generator.answer("Who founded Halden Station?", CONTEXT)
    assert len(items) > 2 and isinstance(generator, Generator) and generator.name.strip()


@pytest.mark.parametrize("case", ["prose", "long", *ODD])
def test_chunker_gives_exact_spans_that_lose_nothing(chunker: Chunker, case: str) -> None:
    """Spans are exact, in order, without overlap, and only white space lies between them."""
    text = {"prose": PROSE, "long": (PROSE + "\n\n") * 400, **ODD}[case]
    passages = chunker.split(text)
    at = 0
    for passage in passages:
        assert text[passage.start : passage.end] == passage.text
        assert passage.text.strip() == passage.text != ""
        assert passage.start >= at and not text[at : passage.start].strip()
        at = passage.end
    assert not text[at:].strip()


def test_chunker_keeps_to_its_size_for_random_texts() -> None:
    """No passage counts more tokens than allowed, and equal texts are split equally."""
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    for limit in (8, 50, 300):
        text = "".join(
            rng.choice(["word ", "Longer-compound ", "x", ". ", "\n\n", "  ", "é", ", "]) for _ in range(5_000)
        )
        passages = SemanticChunker(limit).split(text)
        assert max(count_tokens(passage.text) for passage in passages) <= limit
        assert passages == SemanticChunker(limit).split(text)


def test_chunker_leaves_a_short_text_whole() -> None:
    """One passage, without the white space around it."""
    passages = SemanticChunker().split(f"\n  {PROSE}  \n")
    assert [(p.start, p.text) for p in passages] == [(3, PROSE)]
    assert isinstance(SemanticChunker(), Chunker)


PARTS = (
    ContextPart("Stations", "Halden Station was founded by Ida Moreau [2]. It has a drill [1].", CONTEXT[::-1][:2]),
    ContextPart("Krill", "Penguins eat krill [1].", (ContextPassage("Penguins eat krill.", chunk_id="krill"),)),
)


async def test_generator_cites_what_a_text_rests_on(generator: Generator) -> None:
    """The number in the text identifies one of its sources, in the numbering of the whole context."""
    answer = await generator.answer("Who founded Halden Station?", (), PARTS)
    sources = citable((), PARTS)
    assert "Ida Moreau" in answer.text
    assert [sources[index] for index in answer.cited] == [PARTS[0].sources[1]]


async def test_generator_rates_a_part_by_what_it_says_to_the_question(generator: Generator) -> None:
    """The part with the answer is rated above 0 and cites its own source; the other is rated 0."""
    knows = await generator.answer_part("Who founded Halden Station?", PARTS[0])
    assert 0 < knows.rating <= 100 and "Ida Moreau" in knows.text and knows.cited == (1,)
    other = await generator.answer_part("Who founded Halden Station?", PARTS[1])
    assert other.rating == 0
