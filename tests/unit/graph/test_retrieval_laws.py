"""Laws of every registered mode, tested without naming the mode.

Modes read a view and change nothing, so a view is built once for all of them: a mode that changed it would affect the
next.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from graphtide.graph.records import DocumentInfo, Extraction
from graphtide.graph.retrieval.modes.table import MODES, retrieve
from graphtide.graph.retrieval.types import Filters, Question, RetrievalResult
from graphtide.graph.view import LiveView
from tests.model.small_views import DIMENSIONS, SmallDocument, bag_of_words, random_documents, small_view
from tests.support.extractions import random_extraction, vector
from tests.support.worlds import RandomWorld, empty_view

EVERY_PASSAGE = {"vector", "local", "passages", "bridge", "pipeline", "dynagrag"}
"""Modes that rank every passage; the others return the passages they found, or those within their budget."""

BY_COMMUNITIES = {"global", "global-dynamic"}
"""Modes whose passages are those of communities, which are heuristic and may differ between two builds."""


def ask(text: str, mode: str, **fields: object) -> Question:
    return replace(Question(text, bag_of_words(text), mode=mode), **fields)  # type: ignore[arg-type]


def ids(result: RetrievalResult) -> list[str]:
    return [passage.chunk_id for passage in result.passages]


@cache
def world(seed: int, count: int) -> tuple[SmallDocument, ...]:
    """Return documents drawn at random."""
    return tuple(random_documents(random.Random(seed), count))


@cache
def view_of(seed: int, count: int, order: int = 0) -> LiveView:
    """Return the view of a world, built in its own order, or in an order drawn by `order`."""
    documents = world(seed, count)
    return small_view(random.Random(order).sample(documents, count) if order else documents)


@cache
def written(seed: int, order: int) -> LiveView:
    """Return a graph of forty documents that the writer added one by one: as they come, backwards, or shuffled."""
    rng = random.Random(seed)
    documents = [random_extraction(rng, f"d{number}", number) for number in range(40)]
    orders: Sequence[Sequence[Extraction]] = (documents, documents[::-1], rng.sample(documents, len(documents)))
    world, view = RandomWorld(random.Random(0)), empty_view()
    for one in orders[order]:
        view.apply(world.change(one))
    return view


@pytest.mark.thorough
@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("seed", range(4))
def test_result_is_unchanged_when_documents_arrived_in_another_order(mode: str, seed: int) -> None:
    """Internal numbers differ; the result is equal to the last bit of every score and word of every part."""
    print("seed", seed)
    documents = world(seed, 120)
    text = f"how is {documents[0].entities[0]} related to {documents[1].entities[0]}"
    question = ask(text, mode, top_k=10, explain=True)
    one = retrieve(view_of(seed, 120), question)
    for order in (1, 2):
        other = retrieve(view_of(seed, 120, order), question)
        assert one.passages == other.passages
        assert one.parts == other.parts
        assert one.subgraph == other.subgraph
        assert one.trace == other.trace
    assert one.passages or one.parts
    assert one.trace is not None


@pytest.mark.parametrize("mode", sorted(MODES))
def test_empty_graph_gives_nothing_and_says_its_version(mode: str) -> None:
    """A question to a graph without documents is not an error."""
    result = retrieve(small_view([]), ask("amber", mode, explain=True))
    assert (result.passages, result.subgraph.nodes, result.version) == ((), (), 1)
    assert result.mode == mode or (mode == "auto" and result.mode_reason)
    assert result.trace is not None


@pytest.mark.parametrize("mode", sorted(MODES))
def test_question_without_direction_gives_nothing(mode: str) -> None:
    """A zero vector, as an embedder may return for unknown words, is near to no passage."""
    question = Question("???", np.zeros(DIMENSIONS, np.float32), mode=mode)
    assert retrieve(view_of(2, 12), question).passages == ()


@pytest.mark.parametrize("mode", sorted(MODES))
def test_top_k_beyond_the_graph_gives_no_passage_twice(mode: str) -> None:
    """Each passage is returned at most once, and all of them by the modes that rank everything."""
    found = ids(retrieve(view_of(3, 130), ask("amber grove", mode, top_k=500)))
    assert len(found) == len(set(found))
    if mode in EVERY_PASSAGE:
        assert sorted(found) == sorted(f"{document.doc_id}#0" for document in world(3, 130))


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("top_k", [1, 3, 10])
def test_passages_are_best_first_and_at_most_as_many_as_asked_for(mode: str, top_k: int) -> None:
    """`top_k` limits the passages, and each equals the graph's passage of its id."""
    documents = {f"{one.doc_id}#0": one for one in world(4, 60)}
    result = retrieve(view_of(4, 60), ask("amber grove near cedar heron", mode, top_k=top_k))
    assert len(result.passages) <= top_k
    for passage in result.passages:
        assert (passage.doc_id, passage.text) == (documents[passage.chunk_id].doc_id, documents[passage.chunk_id].text)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_parts_rest_on_passages_that_the_graph_holds(mode: str) -> None:
    """The sources of a part are chunk ids of the graph, each once."""
    documents = world(6, 60)
    known = {f"{one.doc_id}#0" for one in documents}
    text = f"how is {documents[0].entities[0]} related to {documents[1].entities[0]}"
    for part in retrieve(view_of(6, 60), ask(text, mode)).parts:
        assert set(part.sources) <= known
        assert len(set(part.sources)) == len(part.sources)
        assert part.title and part.text


@pytest.mark.parametrize("mode", sorted(MODES))
def test_passages_that_are_all_alike_come_by_name(mode: str) -> None:
    """Equal passages are sorted by chunk id, whatever the order of arrival."""
    twins = [SmallDocument(name, "amber birch", ("amber",)) for name in ("c", "a", "d", "b")]
    found = ids(retrieve(small_view(twins), ask("amber birch", mode, top_k=3)))
    assert found == ["a#0", "b#0", "c#0"][: len(found)]


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (Filters(doc_ids=("b", "c")), {"b", "c"}),
        (Filters(sources=("wiki",)), {"a", "b"}),
        (Filters(metadata=(("lang", "en"), ("rank", 2.0))), {"b"}),
        (Filters(occurred_from="2021", occurred_to="2022"), {"b", "c"}),
        (Filters(doc_ids=("nobody",)), set()),
    ],
)
def test_filter_leaves_only_what_it_admits(mode: str, filters: Filters, kept: set[str]) -> None:
    """Each kind of filter decides by the document, and refused documents are neither returned, shown nor cited."""
    infos = {
        "a": DocumentInfo("", "wiki", "2020-05-01", (("lang", '"en"'), ("rank", "1"))),
        "b": DocumentInfo("", "wiki", "2021-05-01", (("lang", '"en"'), ("rank", "2"))),
        "c": DocumentInfo("", "mail", "2022-12-31T12:00:00Z", (("lang", '"de"'),)),
        "d": DocumentInfo("", "mail"),
    }
    documents = [SmallDocument(n, f"amber {n}", ("amber", n), (("amber", "of", n),), info) for n, info in infos.items()]
    result = retrieve(small_view(documents), ask("how are amber and b related", mode, filters=filters, explain=True))
    assert {passage.doc_id for passage in result.passages} <= kept
    assert result.passages or not kept
    if mode in EVERY_PASSAGE:
        assert {passage.doc_id for passage in result.passages} == kept
    assert {node.name for node in result.subgraph.nodes} <= (kept | {"amber"} if kept else set())
    assert {chunk for part in result.parts for chunk in part.sources} <= {f"{name}#0" for name in kept}
    assert result.trace is not None
    shown = {part for step in result.trace.steps for item in step.items for part in item.id.split(" + ")}
    assert not shown & {f"{name}#0" for name in set(infos) - kept}


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("seed", range(3))
def test_filtered_trace_and_parts_tell_of_admitted_passages_only(mode: str, seed: int) -> None:
    """This uses a larger graph, where the walk and the paths could cross refused passages."""
    print("seed", seed)
    documents = world(seed, 80)
    refused = {f"{document.doc_id}#0" for document in documents if document.info.source != "b"}
    text = f"how is {documents[0].entities[0]} related to {documents[1].entities[0]}"
    result = retrieve(view_of(seed, 80), ask(text, mode, filters=Filters(sources=("b",)), explain=True))
    assert result.trace is not None
    shown = {part for step in result.trace.steps for item in step.items for part in item.id.split(" + ")}
    cited = {chunk for part in result.parts for chunk in part.sources}
    assert result.passages or result.parts
    assert not (shown | cited | set(ids(result))) & refused


@pytest.mark.parametrize("mode", sorted(MODES))
def test_trace_is_there_when_asked_for_and_only_then(mode: str) -> None:
    """An explanation is expensive, so it is made on request only; each of its steps has a description."""
    view = view_of(5, 30)
    assert retrieve(view, ask("amber grove", mode)).trace is None
    explained = retrieve(view, ask("amber grove", mode, explain=True))
    assert explained.trace is not None
    assert all(step.name and step.about for step in explained.trace.steps)
    assert explained.trace.steps
    assert explained.passages == retrieve(view, ask("amber grove", mode)).passages


@pytest.mark.thorough
@pytest.mark.parametrize("mode", sorted(set(MODES) - BY_COMMUNITIES))
@pytest.mark.parametrize("seed", range(3))
def test_passages_are_unchanged_when_the_writer_built_the_graph_in_another_order(mode: str, seed: int) -> None:
    """The writer made labels, clusters, edges and trussness, one document after the other.

    Texts of communities may differ between two builds, and no passage of these modes depends on them.
    """
    print("seed", seed)
    text = "How is Ada Lovelace related to the Royal Society?"
    question = Question(text, vector(text).astype(np.float32), 12, mode)
    seen = [retrieve(written(seed, order), question) for order in range(3)]
    assert seen[0].passages
    assert all(other.passages == seen[0].passages for other in seen)
    assert all({n.id for n in other.subgraph.nodes} == {n.id for n in seen[0].subgraph.nodes} for other in seen)
