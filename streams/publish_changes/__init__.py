"""The topic `graph-changes`: every graph as keyed nodes and relationships, for readers outside."""
