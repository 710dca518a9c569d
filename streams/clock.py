"""The wall clock, as records and ledger entries are dated."""

import time


def now_ms() -> int:
    """Return the milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
