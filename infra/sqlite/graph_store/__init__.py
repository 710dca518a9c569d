"""The GraphStore port on SQLite: graphs as rows of tables."""
