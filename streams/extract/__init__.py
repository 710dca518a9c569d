"""The extract stage: reads `documents`, extracts passages, entities and relations, writes `extractions`."""
