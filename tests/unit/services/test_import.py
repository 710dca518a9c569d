"""`import` brings indexes of GraphRAG and LightRAG with their facts: no model extracts, and twice is once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import graphtide
from graphtide.infra.imports.stores import open_store
from graphtide.infra.imports.types import UnreadableStoreError
from graphtide.services.cli.client import Client
from graphtide.services.cli.importing import run as importing
from graphtide.services.cli.importing.run import ImportOptions, ImportResult, import_store
from graphtide.services.sdk.blocking import Database
from tests.support.foreign_stores import SMALL, Described, Fact, write_graphrag, write_lightrag
from tests.support.syncing import EmbeddedClient

Writer = Callable[[Path, Described], Path]
WRITERS = {"graphrag": write_graphrag, "lightrag": write_lightrag}


@pytest.fixture(params=sorted(WRITERS))
def write(request: pytest.FixtureRequest) -> Writer:
    return WRITERS[request.param]


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[EmbeddedClient, Database]]:
    """Yield an embedded service whose extractor fails the test when it is called."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with graphtide.sync.open(tmp_path / "data", extractor=refuse) as database:
        yield EmbeddedClient(database), database


def refuse(*_: Any) -> Any:
    pytest.fail("an extractor was called for a document that brings its facts")


def run(client: Client, path: Path, graph: str = "g", **options: bool) -> ImportResult:
    done = ImportResult()
    import_store(client, open_store(path), ImportOptions(path, graph, **options), no_bar, done)
    return done


def no_bar(_about: str, _total: int) -> Callable[[int], None]:
    return lambda _count: None


def test_store_is_imported_with_its_facts_and_answers(
    tmp_path: Path, service: tuple[EmbeddedClient, Database], write: Writer
) -> None:
    """Passages keep their ids; entities have types and descriptions, relations weights; a question finds them."""
    client, database = service
    done = run(client, write(tmp_path / "store", SMALL))
    assert (done.passages, done.published, done.failed) == (3, 3, [])
    assert (done.entities, done.relations) == (4, 2)
    assert done.lost["entities of no passage in the store"] == 1
    graph = database.graph("g")
    assert {each.id for each in graph.documents().documents} == {"chunk-0", "chunk-1", "chunk-2"}
    found = {each.name.upper(): each for each in graph.entities().entities}
    assert set(found) == {"ANA RUIZ", "KESSEL AG", "OSLO"}
    assert found["KESSEL AG"].type.casefold() == "organization"
    relations = graph.entity(found["KESSEL AG"].id).relations
    assert sorted(each.weight for each in relations) == [2.0, 9.0]
    answer = graph.ask("Who signed the contract with Kessel AG?")
    assert any(each.doc_id == "chunk-0" for each in answer.citations)


def test_import_twice_is_once(tmp_path: Path, service: tuple[EmbeddedClient, Database], write: Writer) -> None:
    """A second import publishes nothing; without the record of the first one the graph is the same."""
    client, database = service
    store = write(tmp_path / "store", SMALL)
    run(client, store)
    digest = database.graph("g").digest().digest
    client.published.clear()
    again = run(client, store)
    assert (again.unchanged, again.published, client.published) == (3, 0, [])
    for state in (tmp_path / "state" / "graphtide").iterdir():
        state.unlink()
    assert run(client, store).published == 3
    assert database.graph("g").digest().digest == digest


def test_interrupted_import_is_continued(
    tmp_path: Path, service: tuple[EmbeddedClient, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an interruption the next run publishes the rest, and the graph is that of one undisturbed run."""
    monkeypatch.setattr(importing, "BATCH_DOCUMENTS", 20)
    client, database = service
    texts = [f"Box {number} is in room {number % 7}." for number in range(25)]
    facts = [Fact(f"Box {n}", f"room {n % 7}", (f"Box {n} is there.",), (n,), "is in") for n in range(25)]
    store = write_lightrag(tmp_path / "store", Described(texts, (), facts))
    client.fail_after = 1
    with pytest.raises(KeyboardInterrupt):
        run(client, store, wait=False)
    client.fail_after = -1
    assert run(client, store).unchanged == 20
    assert len(client.published) == len(set(client.published)) == 25
    run(client, store, "whole")
    assert database.graph("g").digest().digest == database.graph("whole").digest().digest


def test_deleted_graph_is_imported_again(tmp_path: Path, service: tuple[EmbeddedClient, Database]) -> None:
    """The record of accepted passages is compared with what the service holds."""
    client, database = service
    store = write_lightrag(tmp_path / "store", SMALL)
    run(client, store)
    database.graph("g").wait(database.graph("g").delete("chunk-1").token)
    assert run(client, store).published == 1


def test_dry_run_publishes_nothing_and_counts_what_is_lost(
    tmp_path: Path, service: tuple[EmbeddedClient, Database], write: Writer
) -> None:
    """The report of a dry run has the counts of the import."""
    client, _ = service
    store = write(tmp_path / "store", SMALL)
    planned = run(client, store, dry_run=True)
    assert client.published == [] and planned.published == 0
    done = run(client, store)
    assert (planned.passages, planned.entities, planned.relations, planned.lost) == (
        done.passages,
        done.entities,
        done.relations,
        done.lost,
    )


def test_old_and_new_names_of_graphrag_give_the_same_graph(
    tmp_path: Path, service: tuple[EmbeddedClient, Database]
) -> None:
    """Tables of GraphRAG 0.3 (`create_final_`, `name`, `document_ids`) are those of later versions."""
    client, database = service
    run(client, write_graphrag(tmp_path / "new", SMALL), "new")
    run(client, write_graphrag(tmp_path / "old", SMALL, old_names=True), "old")
    assert database.graph("new").digest().digest == database.graph("old").digest().digest


def test_format_is_detected_below_the_named_folder(tmp_path: Path) -> None:
    """GraphRAG writes to `output`, LightRAG to `rag_storage`; a folder with two stores, or none, is refused."""
    write_graphrag(tmp_path / "project" / "output", SMALL)
    assert open_store(tmp_path / "project").format == "Microsoft GraphRAG"
    write_lightrag(tmp_path / "project" / "rag_storage", SMALL)
    with pytest.raises(UnreadableStoreError, match="2 stores"):
        open_store(tmp_path / "project")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableStoreError, match="contains neither"):
        open_store(tmp_path / "empty")
    with pytest.raises(UnreadableStoreError, match="is not a folder"):
        open_store(tmp_path / "missing")


def test_missing_and_damaged_tables_are_named(tmp_path: Path) -> None:
    """A missing table, a missing column and a truncated file name the file and the remedy."""
    store = write_graphrag(tmp_path / "store", SMALL)
    units = store / "text_units.parquet"
    whole = units.read_bytes()
    units.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UnreadableStoreError, match=r"text_units\.parquet is damaged or incomplete"):
        open_store(store)
    parquet.write_table(pa.table({"id": ["a"], "body": ["x"]}), units)
    with pytest.raises(UnreadableStoreError, match=r"no column text or chunk \(it has body, id\)"):
        list(open_store(store).passages())
    units.unlink()
    with pytest.raises(UnreadableStoreError, match=r"lacks text_units\.parquet"):
        open_store(store)


def test_truncated_json_and_hostile_xml_are_refused(tmp_path: Path) -> None:
    """A half-written store, and GraphML that declares entities, are refused by name; nothing expands."""
    store = write_lightrag(tmp_path / "store", SMALL)
    graph = store / "graph_chunk_entity_relation.graphml"
    whole = graph.read_text()
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    graph.write_text(f'<!DOCTYPE graphml [<!ENTITY a0 "x">{bomb}]><graphml>&a11;</graphml>')
    with pytest.raises(UnreadableStoreError, match="declares XML entities"):
        open_store(store)
    graph.write_text(f'<!DOCTYPE graphml SYSTEM "file:///etc/passwd">{whole.partition("?>")[2]}')
    with pytest.raises(UnreadableStoreError, match="declares XML entities"):
        open_store(store)
    graph.write_text(whole[: len(whole) // 2])
    with pytest.raises(UnreadableStoreError, match="damaged or incomplete"):
        open_store(store)
    graph.write_text(whole)
    chunks = store / "kv_store_text_chunks.json"
    for damaged in (chunks.read_text()[:-20], "[]", '{"a": 1}', "[" * 100_000):
        chunks.write_text(damaged)
        with pytest.raises(UnreadableStoreError, match=r"kv_store_text_chunks\.json is"):
            open_store(store)


def test_names_and_texts_that_cannot_be_stored_are_counted(
    tmp_path: Path, service: tuple[EmbeddedClient, Database]
) -> None:
    """Blank and endless names are lost by count; line breaks, NUL characters and long descriptions are repaired."""
    client, database = service
    hostile = replace(
        SMALL,
        texts=("Ana\0 Ruiz\ud800 met Kessel AG.", "  ", "Oslo."),
        entities=(
            Fact("x" * 600, "", ("too long",), (0,)),
            Fact("Ana\nRuiz", "", ("y" * 10_000,), (0,)),
            Fact("Oslo", "", ("a", "b", "c"), (2,)),
        ),
        relations=(),
    )
    store = tmp_path / "store"
    write_lightrag(store, replace(hostile, entities=()))
    chunks = json.loads((store / "kv_store_text_chunks.json").read_text())
    nodes = {each.source: each for each in hostile.entities}
    write_lightrag(store, replace(hostile, texts=("a", "b", "c")))
    (store / "kv_store_text_chunks.json").write_text(json.dumps(chunks))
    done = run(client, store)
    assert done.failed == [] and done.published == 2 and len(nodes) == 3
    assert done.lost["chunks without text"] == 1
    assert done.lost["entities without a name, or with one of more than 512 characters"] == 1
    assert done.lost["descriptions shortened to 8192 characters"] == 1
    assert {each.name for each in database.graph("g").entities().entities} == {"Ana Ruiz", "Oslo"}


def test_complete_lists_of_chunks_take_precedence(tmp_path: Path) -> None:
    """Newer versions of LightRAG cut `source_id` in the graph, and keep all chunks of an entity beside it."""
    store = write_lightrag(tmp_path / "store", SMALL)
    lists = {"Oslo": {"chunk_ids": ["chunk-0", "chunk-1", "chunk-2"], "count": 3}}
    (store / "kv_store_entity_chunks.json").write_text(json.dumps(lists))
    pairs = {"Ana Ruiz<SEP>Kessel AG": {"chunk_ids": ["chunk-0", "chunk-1"], "count": 2}}
    (store / "kv_store_relation_chunks.json").write_text(json.dumps(pairs))
    passages = {each.id: each for each in open_store(store).passages()}
    assert all("Oslo" in {entity.name for entity in each.entities} for each in passages.values())
    shares = [each.weight for passage in passages.values() for each in passage.relations if each.subject == "Ana Ruiz"]
    assert shares == [1.0, 1.0]


def test_record_that_cannot_be_written_does_not_stop_the_import(
    tmp_path: Path, service: tuple[EmbeddedClient, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full or read-only disk costs the record of what was published, which the next run does without."""
    client, _ = service
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert run(client, write_lightrag(tmp_path / "store", SMALL)).published == 3
    assert "the next run publishes again" in client.messages[0]


def test_search_for_a_store_ends_at_its_depth_and_follows_no_link(tmp_path: Path) -> None:
    """A store far below, or behind a link that leads back, is not looked for."""
    deep = write_lightrag(tmp_path / "a" / "b" / "c", SMALL)
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert open_store(tmp_path).count() == 3
    deep.rename(tmp_path / "a" / "b" / "moved")
    (tmp_path / "a" / "b" / "c" / "d").mkdir(parents=True)
    (tmp_path / "a" / "b" / "moved").rename(tmp_path / "a" / "b" / "c" / "d" / "e")
    with pytest.raises(UnreadableStoreError, match="contains neither"):
        open_store(tmp_path)
