"""Incremental graph algorithms on the compiled kernels: personalised PageRank and trussness."""
