"""The retrievers and the store of other frameworks, with the frameworks' own tests where they publish them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests.retrievers import RetrieversIntegrationTests
from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
from llama_index.core.schema import Document, NodeRelationship, RelatedNodeInfo, TextNode

import graphtide
import graphtide.sync
from graphtide.langchain import GraphtideRetriever
from graphtide.llama_index import GraphtideDocumentStore
from graphtide.llama_index import GraphtideRetriever as LlamaRetriever
from tests.support.processes import service

TEXTS = {f"d{n}": f"Person {n} repaired pump {n} in the north hall." for n in range(6)}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a service with a graph of a few documents."""
    folder = tmp_path_factory.mktemp("frameworks")
    with service(folder / "data", log=folder / "log") as running:
        with graphtide.sync.connect(running.url) as db:
            made = db.graph("notes").add_many(
                {"id": doc_id, "text": text, "metadata": {"n": number}, "title": f"Note {number}"}
                for number, (doc_id, text) in enumerate(TEXTS.items())
            )
            db.graph("notes").wait(made.token, 120)
        yield running.url


@pytest.fixture(scope="module")
def notes(url: str) -> Iterator[graphtide.sync.Graph]:
    with graphtide.sync.connect(url) as db:
        yield db.graph("notes")


class TestStandardRetriever(RetrieversIntegrationTests):
    """LangChain's tests of retrievers."""

    @pytest.fixture(autouse=True)
    def _graph(self, notes: graphtide.sync.Graph) -> None:
        self.graph = notes

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return GraphtideRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"graph": self.graph, "mode": "vector"}

    @property
    def retriever_query_example(self) -> str:
        return "Who repaired a pump?"


async def test_retriever_of_langchain_names_the_sources_of_its_documents(url: str, notes: graphtide.sync.Graph) -> None:
    """A blocking graph and one of an event loop give the same documents; filters select them."""
    only = graphtide.Filters(metadata=(("n", 3),))
    retriever = GraphtideRetriever(graph=notes, mode="vector", filters=only)
    async with graphtide.connect(url) as db:
        other = GraphtideRetriever(graph=db.graph("notes"), mode="vector", filters=only)
        [document] = await other.ainvoke("Who repaired pump 3?")
        assert [document] == await retriever.ainvoke("Who repaired pump 3?")
        with pytest.raises(graphtide.Invalid, match=r"graphtide\.sync"):
            other.invoke("Who?")
    assert document.page_content == TEXTS["d3"] and document.id == document.metadata["chunk_id"]
    assert (document.metadata["doc_id"], document.metadata["title"]) == ("d3", "Note 3")
    assert document.metadata["version"] >= 1 and document.metadata["graph"] == "notes"


async def test_retriever_of_llama_index_names_the_source_documents(url: str, notes: graphtide.sync.Graph) -> None:
    """Nodes have the score and the document of the passage, with a blocking graph and one of an event loop."""
    found = LlamaRetriever(notes, k=2, mode="vector").retrieve("Who repaired pump 4?")
    assert len(found) == 2 and found[0].node.ref_doc_id == "d4" and found[0].score is not None
    async with graphtide.connect(url) as db:
        asked = await LlamaRetriever(db.graph("notes"), k=2, mode="vector").aretrieve("Who repaired pump 4?")
    assert [each.node for each in asked] == [each.node for each in found]


def test_store_of_llama_index_returns_the_documents_that_it_was_given(url: str) -> None:
    """Text, metadata, ids, hashes and sources are kept; unknown ids raise as in LlamaIndex's own stores."""
    with graphtide.sync.connect(url) as db:
        store = GraphtideDocumentStore(db.graph("store", read_your_writes=True))
        first = Document(id_="a/b", text="Ana Ruiz signed.", metadata={"team": "ops", "deep": {"x": [1, None]}})
        node = TextNode(id_="n1", text="Kenji Mori repaired the pump.", metadata={"page": 3})
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="file-1")
        store.add_documents([first, node])
        got = store.get_document("a/b")
        assert isinstance(got, Document) and (got.text, got.metadata) == (first.text, first.metadata)
        assert got.hash == first.hash == store.get_document_hash("a/b")
        assert isinstance(store.get_node("n1"), TextNode) and store.docs.keys() == {"a/b", "n1"}
        info = store.get_ref_doc_info("file-1")
        assert info is not None and info.node_ids == ["n1"]
        store.set_document_hash("a/b", "other")
        assert store.get_document_hash("a/b") == "other" and "other" in store.get_all_document_hashes()
        with pytest.raises(ValueError, match="exists already"):
            store.add_documents([first], allow_update=False)
        store.delete_ref_doc("file-1")
        assert not store.document_exists("n1") and store.get_document("n1", raise_error=False) is None
        for call in (store.get_document, store.delete_document, store.delete_ref_doc):
            with pytest.raises(ValueError, match="not found"):
                call("unknown")


async def test_ingestion_pipeline_leaves_out_documents_that_did_not_change(url: str) -> None:
    """A second load publishes the edited document alone; the calls of an event loop do the same."""
    with graphtide.sync.connect(url) as db:
        graph = db.graph("pipeline", read_your_writes=True)
        store = GraphtideDocumentStore(graph)
        pipeline = IngestionPipeline(
            transformations=[], docstore=store, docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY
        )
        documents = [Document(id_=f"d{n}", text=f"Person {n} signed.") for n in range(3)]
        await pipeline.arun(documents=documents)
        before = {n: graph.document(f"d{n}").revision for n in range(3)}
        documents[1] = Document(id_="d1", text="Person 1 declined.")
        pipeline.run(documents=documents)
        after = {n: graph.document(f"d{n}").revision for n in range(3)}
        assert [n for n in range(3) if before[n] != after[n]] == [1]
        assert (await store.aget_document("d1")) == store.get_document("d1")


def test_modules_of_the_package_load_no_framework() -> None:
    """Only `graphtide.langchain` and `graphtide.llama_index` import theirs."""
    import subprocess

    script = "import sys, graphtide, graphtide.sync; graphtide.connect; graphtide.open"
    script += "; print([n for n in ('langchain_core', 'llama_index', 'mcp') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pages_name_the_versions_that_are_tested() -> None:
    """The table of docs/integrations.md has the versions of the environment."""
    from importlib.metadata import version

    page = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text()
    for package in ("mcp", "langchain-core", "langchain-tests", "llama-index-core", "openai"):
        assert f"{package} {'.'.join(version(package).split('.')[:2])}" in page, package
