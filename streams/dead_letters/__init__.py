"""Dead letters: revisions that cannot be processed, written once, listed, retried or discarded."""
