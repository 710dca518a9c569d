"""Checkpoints of live views: their rows as columns in a file, from which a process starts without the store's rows."""
