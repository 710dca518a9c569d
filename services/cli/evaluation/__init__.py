"""The command `graphtide eval`."""
