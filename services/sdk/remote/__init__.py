"""The client of a running service: the interface of `graphtide.open` over HTTP."""
