"""The demonstration that `make run` starts, its sample documents, and the trial of a language model."""
