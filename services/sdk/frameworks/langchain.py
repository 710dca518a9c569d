"""A retriever of LangChain over a graph."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from graphtide.services.application import Answer, Filters
from graphtide.services.sdk.frameworks.passages import PassageOptions, blocking, metadata_of, search


class GraphtideRetriever(BaseRetriever):
    """Retrieve the passages of a graph that matter for a question.

    `graph` is one of `graphtide.sync.open` or `graphtide.sync.connect`, or for `ainvoke` alone one of their
    asynchronous twins. `k`, `mode`, `filters`, `as_of` and `after` (a token) may be given to `invoke`, too.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    graph: Any
    k: int = 5
    mode: str = "auto"
    filters: Filters | None = None
    as_of: str = ""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return self._documents(blocking(self.graph).ask(query, **self._arguments(options)))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        return self._documents(await search(self.graph, query, self._arguments(options), asyncio.to_thread))

    def _arguments(self, options: dict[str, Any]) -> dict[str, Any]:
        own = {"k": self.k, "mode": self.mode, "filters": self.filters, "as_of": self.as_of}
        after = options.pop("after", "")
        return PassageOptions(**{**own, **options}).arguments(after)

    def _documents(self, answer: Answer) -> list[Document]:
        name = self.graph.name
        return [
            Document(id=passage.chunk_id, page_content=passage.text, metadata=metadata_of(name, passage, answer))
            for passage in answer.passages
        ]
