"""A retriever and a document store of LlamaIndex over a graph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    BaseNode,
    Document,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore.types import BaseDocumentStore, RefDocInfo

from graphtide.services.application import Answer, DocumentStatus, Filters
from graphtide.services.sdk.blocking import Graph
from graphtide.services.sdk.frameworks.passages import PassageOptions, blocking, metadata_of, search
from graphtide.streams.errors import NotFound

KEPT = "llama_index"
"""The key of a document's metadata with the fields of a node that are not text: its kind, metadata, and hash."""
PAGE = 1000


class GraphtideRetriever(BaseRetriever):
    """Retrieve the passages of a graph that matter for a question, as nodes with their documents as sources.

    `graph` is one of `graphtide.sync.open` or `graphtide.sync.connect`, or for `aretrieve` alone one of their
    asynchronous twins.
    """

    def __init__(
        self, graph: Any, *, k: int = 5, mode: str = "auto", filters: Filters | None = None, as_of: str = ""
    ) -> None:
        self._graph = graph
        self._options = PassageOptions(k, mode, filters, as_of)
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._nodes(blocking(self._graph).ask(query_bundle.query_str, **self._options.arguments()))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        arguments = self._options.arguments()
        return self._nodes(await search(self._graph, query_bundle.query_str, arguments, asyncio.to_thread))

    def _nodes(self, answer: Answer) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=passage.chunk_id,
                    text=passage.text,
                    metadata=metadata_of(self._graph.name, passage, answer),
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.doc_id)},
                ),
                score=passage.score,
            )
            for passage in answer.passages
        ]


class GraphtideDocumentStore(BaseDocumentStore):
    """Keep documents of LlamaIndex in a graph, which then answers from them.

    `graph` is one of `graphtide.sync`. A stored document is a revision of the document with its id; what reads the
    store waits for what was written through it, if the graph was made with `read_your_writes=True`.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = blocking(graph)

    @property
    def docs(self) -> dict[str, BaseNode]:
        """Return all documents by their ids. Cost: linear in the graph; meant for small ones."""
        return {doc_id: node for doc_id in self._ids() if (node := self.get_document(doc_id, False)) is not None}

    def add_documents(
        self,
        docs: Sequence[BaseNode],
        allow_update: bool = True,
        batch_size: int = 100,
        store_text: bool = True,
    ) -> None:
        """Publish the documents; those without text are left out. Raises ValueError for one that is not accepted.

        With `allow_update` False a known id is an error.
        """
        if not allow_update:
            for known in (each.node_id for each in docs if self.document_exists(each.node_id)):
                raise ValueError(f"document {known} exists already; set allow_update to publish a new revision")
        made = self._graph.add_many(_published(node, node.hash) for node in docs if node.get_content().strip())
        for refused in made.rejected:
            raise ValueError(f"document {refused.id}: {refused.field} {refused.message}")

    def get_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        """Return a document. Without it, raise ValueError or return None."""
        status = self._status(doc_id)
        if status is not None:
            return _node(status)
        if raise_error:
            raise ValueError(f"doc_id {doc_id} not found.")
        return None

    def delete_document(self, doc_id: str, raise_error: bool = True) -> None:
        """Delete a document and everything that it alone supported."""
        try:
            self._graph.delete(doc_id)
        except NotFound as error:
            if raise_error:
                raise ValueError(f"doc_id {doc_id} not found.") from error

    def document_exists(self, doc_id: str) -> bool:
        return self._status(doc_id) is not None

    def set_document_hash(self, doc_id: str, doc_hash: str) -> None:
        """Keep another hash with a document that is stored; publishes a revision of it unless the hash is equal."""
        status = self._status(doc_id)
        if status is not None and _hash_of(status) != doc_hash:
            self._graph.add_many([_published(_node(status), doc_hash)])

    def set_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        for doc_id, doc_hash in doc_hashes.items():
            self.set_document_hash(doc_id, doc_hash)

    def get_document_hash(self, doc_id: str) -> str | None:
        status = self._status(doc_id)
        return None if status is None else _hash_of(status)

    def get_all_document_hashes(self) -> dict[str, str]:
        """Return the id of every document by its hash, as LlamaIndex expects it."""
        return {found: doc_id for doc_id in self._ids() if (found := self.get_document_hash(doc_id)) is not None}

    def get_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        """Return the source documents of the stored nodes, with the nodes of each."""
        found: dict[str, RefDocInfo] = {}
        for node in self.docs.values():
            if node.ref_doc_id is not None:
                info = found.setdefault(node.ref_doc_id, RefDocInfo())
                info.node_ids.append(node.node_id)
                info.metadata = info.metadata or dict(node.metadata)
        return found

    def get_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        return (self.get_all_ref_doc_info() or {}).get(ref_doc_id)

    def delete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        """Delete the nodes of a source document. Without any, raise ValueError if `raise_error` is set."""
        info = self.get_ref_doc_info(ref_doc_id)
        if info is None and raise_error:
            raise ValueError(f"ref_doc_id {ref_doc_id} not found.")
        for node_id in info.node_ids if info is not None else ():
            self.delete_document(node_id, raise_error=False)

    async def async_add_documents(
        self, docs: Sequence[BaseNode], allow_update: bool = True, batch_size: int = 100, store_text: bool = True
    ) -> None:
        await asyncio.to_thread(self.add_documents, docs, allow_update, batch_size, store_text)

    async def aget_document(self, doc_id: str, raise_error: bool = True) -> BaseNode | None:
        return await asyncio.to_thread(self.get_document, doc_id, raise_error)

    async def adelete_document(self, doc_id: str, raise_error: bool = True) -> None:
        await asyncio.to_thread(self.delete_document, doc_id, raise_error)

    async def adocument_exists(self, doc_id: str) -> bool:
        return await asyncio.to_thread(self.document_exists, doc_id)

    async def aset_document_hash(self, doc_id: str, doc_hash: str) -> None:
        await asyncio.to_thread(self.set_document_hash, doc_id, doc_hash)

    async def aset_document_hashes(self, doc_hashes: dict[str, str]) -> None:
        await asyncio.to_thread(self.set_document_hashes, doc_hashes)

    async def aget_document_hash(self, doc_id: str) -> str | None:
        return await asyncio.to_thread(self.get_document_hash, doc_id)

    async def aget_all_document_hashes(self) -> dict[str, str]:
        return await asyncio.to_thread(self.get_all_document_hashes)

    async def aget_all_ref_doc_info(self) -> dict[str, RefDocInfo] | None:
        return await asyncio.to_thread(self.get_all_ref_doc_info)

    async def aget_ref_doc_info(self, ref_doc_id: str) -> RefDocInfo | None:
        return await asyncio.to_thread(self.get_ref_doc_info, ref_doc_id)

    async def adelete_ref_doc(self, ref_doc_id: str, raise_error: bool = True) -> None:
        await asyncio.to_thread(self.delete_ref_doc, ref_doc_id, raise_error)

    def _status(self, doc_id: str) -> DocumentStatus | None:
        try:
            status = self._graph.document(doc_id)
        except NotFound:
            return None
        return status if status.live_revision is not None or status.state == "accepted" else None

    def _ids(self) -> Iterator[str]:
        cursor = ""
        while True:
            try:
                page = self._graph.documents(limit=PAGE, cursor=cursor)
            except NotFound:  # a graph begins with its first document
                return
            yield from (each.id for each in page.documents)
            cursor = page.next
            if not cursor:
                return


def _published(node: BaseNode, doc_hash: str) -> dict[str, Any]:
    """Return the document of a node; its plain metadata can be used in filters."""
    kept = {"document": isinstance(node, Document), "hash": doc_hash, "metadata": node.metadata}
    kept |= {"ref_doc_id": node.ref_doc_id or ""}
    plain = {name: value for name, value in node.metadata.items() if isinstance(value, str | int | float | bool)}
    title = node.metadata.get("title") or node.metadata.get("file_name") or ""
    return {
        "id": node.node_id,
        "text": node.get_content(metadata_mode=MetadataMode.NONE),
        "title": title if isinstance(title, str) else "",
        "metadata": {**plain, KEPT: json.dumps(kept, default=str)},
    }


def _node(status: DocumentStatus) -> BaseNode:
    """Return the node of a document; a document that another program published is a Document."""
    kept = _kept(status)
    fields: dict[str, Any] = {"id_": status.doc_id, "text": status.text, "metadata": kept.get("metadata", {})}
    if not kept:
        fields["metadata"] = {"title": status.title, "source": status.source, **status.metadata}
    if kept.get("ref_doc_id"):
        fields["relationships"] = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=kept["ref_doc_id"])}
    return Document(**fields) if kept.get("document", True) else TextNode(**fields)


def _hash_of(status: DocumentStatus) -> str:
    return str(_kept(status).get("hash") or _node(status).hash)


def _kept(status: DocumentStatus) -> dict[str, Any]:
    text = status.metadata.get(KEPT)
    kept = json.loads(text) if isinstance(text, str) else {}
    return kept if isinstance(kept, dict) else {}
