"""Extraction as a Faust worker: a stream of `documents`, and the extract stage that consumes it."""
