"""Administration of a data folder: backup and restore, erasure, and replacement of its embedding model."""
