"""Rate limits, concurrency limits and circuit breaking per model endpoint."""
