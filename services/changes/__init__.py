"""The change feed of a graph, and views of its earlier versions."""
