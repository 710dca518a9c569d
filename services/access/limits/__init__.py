"""Limits for each caller: rates, concurrency, bytes of bodies, sending times and quotas."""
