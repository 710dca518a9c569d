"""The state of a live view: its tables and their reading (`content`), rows (`tables`) and vector indexes."""
