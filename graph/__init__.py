"""The pure core: the data model of a knowledge graph and its incremental maintenance. No driver, no I/O, no clock."""

try:
    from graphtide.graph import (  # noqa: F401 -- a check, with a remedy in its error
        _adjacency,
        _blocks,
        _communities,
        _hnsw,
        _int_sets,
        _pagerank,
        _tables,
        _tokens,
        _trussness,
        _vectors,
        _words,
    )
except ImportError as error:
    raise ImportError(
        f"the compiled kernels of graphtide.graph cannot be loaded ({error}): compile them with `make env`, or with"
        " `pip install .`"
    ) from error
