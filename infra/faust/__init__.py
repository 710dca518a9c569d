"""Extraction as a Faust worker: a stream of `documents`, and the extract stage behind it."""
