"""Prometheus collectors: stages, model endpoints, live views."""
