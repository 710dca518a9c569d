"""Live views in query processes: delta records and their codec, followers, tokens, lag and freshness."""
