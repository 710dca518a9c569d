"""Entity descriptions and passage headings: a function of the live documents alone, in any order of arrival."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.entity_descriptions import MAX_TOKENS, describe, merge_descriptions, sentences
from graphtide.graph.layers import heading
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction
from graphtide.graph.text.token_count import count_tokens
from graphtide.graph.view import LiveView
from graphtide.streams.messages import unit_key
from tests.support.extractions import unit
from tests.support.worlds import RandomWorld, empty_view, snapshot_of


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_descriptions_and_headings_are_those_of_a_rebuild_after_a_random_walk(seed: int) -> None:
    """After inserts, edits, deletions, merges and splits every description and heading equals the rebuild's."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    world, view, seen = RandomWorld(rng), empty_view(), 0
    for _ in range(25):
        view.apply(world.step())
        rebuilt = empty_view()
        rebuilt.apply(snapshot_of(world.live))
        found = descriptions(view)
        assert found == descriptions(rebuilt) and headings(view) == headings(rebuilt)
        given = {m.description for one in world.live.values() for u in one.units for m in u.mentions}
        assert all(sentence.rstrip(".") in given for text in found.values() for sentence in sentences(text))
        seen += sum(map(bool, found.values()))
    assert seen


def test_heading_is_the_models_where_it_gave_one() -> None:
    """Title and description are used where present; an edit of them alone is a change without a new digest."""
    text, facts = "Passage 1. It continues.", [("Ada", "", "")]
    bare = replace(unit(text, facts, []), title="", description="")
    writer, view = Consolidator("g"), empty_view()
    olds: list[Extraction | None] = [None]
    digests = set()
    for title, description in (("", ""), ("On Ada", ""), ("", "A life."), ("On Ada", "A life.")):
        key = unit_key(text, bare.vector, bare.mentions, bare.facts, (title, description))
        new = Extraction(
            "d", len(olds), DocumentInfo(), (replace(bare, key=key, title=title, description=description),)
        )
        view.apply(writer.apply([DocumentChange("d", olds[-1], new)]))
        olds.append(new)
        [number] = view.chunks
        assert heading(view, number) == (title or "Passage 1.", description or "Passage 1. (on Ada)")
        digests.add(digest(view.rows()))
    assert len(digests) == 1


def descriptions(view: LiveView) -> dict[str, str]:
    return {entity.id: describe(view, node) for node, entity in view.entities.items()}


def headings(view: LiveView) -> dict[str, tuple[str, str]]:
    return {chunk.chunk_id: heading(view, number) for number, chunk in view.chunks.items()}


def test_description_loses_what_only_a_deleted_document_said() -> None:
    """Two documents describe Ada, one of them twice; after the deletion of one its words are removed."""
    writer, view = Consolidator("g"), empty_view()
    descriptions = {"a": "English mathematician", "b": "Daughter of Lord Byron. She knew Babbage"}
    news = {
        doc_id: Extraction(doc_id, 1, DocumentInfo(), (unit(f"Ada in {doc_id}.", [("Ada", "", words)], []),))
        for doc_id, words in descriptions.items()
    }
    view.apply(writer.apply([DocumentChange(doc_id, None, new) for doc_id, new in news.items()]))
    [node] = view.entities
    assert describe(view, node) == "Daughter of Lord Byron. She knew Babbage. English mathematician."
    view.apply(writer.apply([DocumentChange("b", news["b"], None)]))
    assert describe(view, node) == "English mathematician."
    view.apply(writer.apply([DocumentChange("a", news["a"], replace(news["a"], revision=2, units=()))]))
    assert not view.entities


def test_joined_descriptions_stay_within_the_bound_and_end_where_a_sentence_does() -> None:
    """Frequent descriptions come first, none twice; one huge sentence is cut at a word."""
    seed = 7
    print(f"seed {seed}")
    rng = random.Random(seed)
    words = ["engine", "analytical", "mathematician", "of", "the", "first", "programme", "Menabrea", "notes"]
    for _ in range(200):
        given = Counter(
            {
                " ".join(rng.choices(words, k=rng.randrange(1, 30))) + rng.choice([".", "", "!", ". And more"]): n
                for n in range(1, rng.randrange(2, 60))
            }
        )
        max_tokens = rng.choice([20, 100, MAX_TOKENS])
        text = merge_descriptions(given, max_tokens)
        assert text and count_tokens(text) <= max_tokens
        assert text[-1] in ".!\u2026"
        first = max(given, key=lambda one: given[one])
        assert text[-1] == "\u2026" or text.startswith(sentences(first if first[-1] in ".!" else f"{first}.")[0])
    assert (
        merge_descriptions(Counter({"a mathematician": 3, "A mathematician": 1, "mathematician": 2}))
        == "a mathematician."
    )
    assert merge_descriptions(Counter()) == ""


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("# The Engine\nIt was never built. Why?", "Notes", ("The Engine", "It was never built. (on Ada)")),
        ("Ada wrote notes. They were read.", "Notes", ("Notes", "Ada wrote notes.")),
        ("Ada wrote notes. They were read.", "", ("Ada wrote notes.", "Ada wrote notes.")),
        ("Only words, no mark", "", ("Only words, no mark", "Only words, no mark (on Ada)")),
    ],
)
def test_heading_is_the_passages_own_line_or_its_documents_title(
    text: str, title: str, expected: tuple[str, str]
) -> None:
    """It is a first line that reads as a heading, else the document's title, else the first sentence."""
    view = empty_view()
    new = Extraction("d", 1, DocumentInfo(title), (unit(text, [("Ada", "", "")], []),))
    view.apply(Consolidator("g").apply([DocumentChange("d", None, new)]))
    [number] = view.chunks
    assert heading(view, number) == expected
