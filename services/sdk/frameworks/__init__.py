"""Retrievers and stores of other frameworks over the interface of `graphtide.open` and `graphtide.connect`."""
