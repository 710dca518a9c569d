"""The in-memory reference of the ports Log, Ledger and GraphStore: it defines their meaning, and is not durable.

One `MemoryBackend` holds the state of all three, so that a commit of the store, its outcomes in the ledger and its
notices in the log are one step. Invariant: every change is validated first, then made without awaiting, so no task
ever observes a partial change.
"""

from __future__ import annotations

from collections.abc import Callable

from graphtide.streams.clock import now_ms
from tests.model.memory.ledger import MemoryLedger
from tests.model.memory.log import MemoryLog
from tests.model.memory.outbox import MemoryOutbox
from tests.model.memory.store import MemoryGraphStore

__all__ = ["MemoryBackend", "MemoryGraphStore", "MemoryLedger", "MemoryLog", "MemoryOutbox"]


class MemoryBackend:
    """Log, ledger and store over one state. `clock_ms` dates records and ledger entries.

    With an `outbox`, notices are written there instead of to `deltas`, as where store and log are two systems.
    `by_time` selects how revisions are numbered: see MemoryLedger.
    """

    def __init__(
        self,
        partitions: int = 1,
        clock_ms: Callable[[], int] = now_ms,
        outbox: MemoryOutbox | None = None,
        by_time: bool = False,
    ) -> None:
        self.log = MemoryLog(partitions, clock_ms)
        self.ledger = MemoryLedger(self.log, clock_ms, by_time)
        self.store = MemoryGraphStore(self.log, self.ledger, outbox)
