"""Gauge of the readers of event streams: how many versions the slowest open reader has not received yet.

A reader that takes its events slowly falls behind the graph until its events are no longer retained. Cost of a scrape:
the open readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

CHANGES = "changes"
QUESTIONS = "questions"
STREAMS = (CHANGES, QUESTIONS)
"""Change feeds, and events of standing questions."""


@dataclass(slots=True, eq=False)
class StreamReader:
    """The position of one reader. `present` returns the version that the graph has now."""

    stream: str
    present: Callable[[], int]
    position: int | None = None
    """The version up to which the reader has everything; None while nothing waits for it."""

    def received(self, version: int) -> None:
        """Note that the reader has everything up to this version, and that more may wait."""
        self.position = version

    def is_current(self) -> None:
        """Note that nothing waits for the reader."""
        self.position = None

    def lag(self) -> int:
        """Return the number of versions since its position."""
        return 0 if self.position is None else max(0, self.present() - self.position)


class StreamReaders(Collector):
    """The open readers of a process. Belongs to its event loop; scrapes read it."""

    def __init__(self) -> None:
        self._open: set[StreamReader] = set()

    @contextmanager
    def reading(self, stream: str, present: Callable[[], int]) -> Iterator[StreamReader]:
        """Count a reader of a stream during the block."""
        reader = StreamReader(stream, present)
        self._open.add(reader)
        try:
            yield reader
        finally:
            self._open.discard(reader)

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the family without samples."""
        return (_family(),)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Yield the lag of the slowest reader of each kind of stream, 0 without a reader."""
        family, readers = _family(), list(self._open)
        for stream in STREAMS:
            lags = (reader.lag() for reader in readers if reader.stream == stream)
            family.add_metric([stream], max(lags, default=0))
        yield family


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "graphtide_stream_versions_behind",
        "Versions that the slowest open reader of an event stream has not received",
        labels=["stream"],
    )
