"""Lists and neighbourhoods of a live graph: entities in order, communities by level, the part around an entity."""
