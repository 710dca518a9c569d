"""The listwise ranker: reads all units of a shortlist together, after the cross-encoder has read each alone."""
