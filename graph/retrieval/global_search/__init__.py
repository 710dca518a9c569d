"""Global search over community reports: static by level, dynamic from the root."""
