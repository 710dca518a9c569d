"""Accounting of model calls: reservations, settlements, counters and estimates."""
