"""The GraphStore and Outbox ports on Neo4j or Memgraph: graphs as nodes and relationships, by generation."""
