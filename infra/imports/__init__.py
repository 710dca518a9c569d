"""Readers of the stores of other systems: their passages with the entities and relations that a model extracted."""
