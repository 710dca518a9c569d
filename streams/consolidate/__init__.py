"""The consolidate stage: the single writer of each graph, its batches, verification and the outbox relay."""
