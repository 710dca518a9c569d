"""Entity resolution without order: which labels are the same entity, and why."""
