"""Adapters of drivers, model endpoints and deployments: SQLite, hnswlib, Bolt, Kafka, settings, metrics."""
