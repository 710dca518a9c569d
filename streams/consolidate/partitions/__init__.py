"""The single writer of a partition of `extractions` (`writer.py`) and its parts."""
