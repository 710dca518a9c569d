"""The retriever of LangChain: `pip install 'graphtide[langchain]'` (docs/integrations.md)."""

from graphtide.services.sdk.frameworks.langchain import GraphtideRetriever

__all__ = ["GraphtideRetriever"]
