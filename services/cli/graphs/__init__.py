"""The commands on whole graphs."""
