"""Community reports and entity summaries of a live graph: sources, fingerprints, caches."""
