"""The retriever and document store of LlamaIndex: `pip install 'graphtide[llama-index]'` (docs/integrations.md)."""

from graphtide.services.sdk.frameworks.llama_index import GraphtideDocumentStore, GraphtideRetriever

__all__ = ["GraphtideDocumentStore", "GraphtideRetriever"]
