"""Graph searches: BFS, beam search, personalised PageRank, Steiner trees, community filters."""
