"""The command `import`: passages of other systems with the entities and relations that were extracted there."""
