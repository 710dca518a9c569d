"""The pure core: what a knowledge graph is, and how it stays current. No driver, no I/O, no clock."""
