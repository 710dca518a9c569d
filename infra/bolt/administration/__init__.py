"""Administration of a graph database: its schema, and backup and restore."""
