"""Standing questions for callers: their types and operations, on the views of this process."""
