"""The pure core: the data model of a knowledge graph and its incremental maintenance. No driver, no I/O, no clock."""
