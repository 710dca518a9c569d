"""Everything that touches a driver or a deployment: SQLite, hnswlib, model endpoints, settings, metrics."""
