"""Projection of fitted bytes per relation to many graphs: memory of writers and replicas, uneven partitions.

A simulation, not a measurement: graphs have sizes by Zipf's law, keys choose partitions by murmur2 as Kafka's clients
do, partitions go to consolidators in turn. A write model is held only for graphs that receive documents; the largest
graph must fit into its writer, and every replica holds every graph of its cluster.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from aiokafka.partitioner import murmur2

from tests.bench.cluster_table import Row

GIB = 1 << 30
MACHINE_GIB = 64
USABLE = 0.75
"""The share of a machine's memory for graphs: the rest is for the interpreter, batches, and a loading snapshot."""
PARTITIONS = 48
ZIPF = 0.8
CASES = (
    (10**5, 1),
    (10**6, 1),
    (10**6, 100),
    (10**7, 1),
    (10**7, 1_000),
    (10**8, 10_000),
    (10**9, 100_000),
    (10**9, 1_000_000),
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Relations of the largest graph, of the fullest partition, and the ratio of the fullest partition to the mean."""

    largest: float
    fullest: float
    skew: float


def spread(relations: int, graphs: int, partitions: int = PARTITIONS) -> Spread:
    """Sum sizes by Zipf's law with exponent `ZIPF` over the partitions of the graphs' names."""
    sizes = np.arange(1, graphs + 1, dtype=float) ** -ZIPF
    sizes *= relations / sizes.sum()
    places = [(murmur2(f"graph-{number}".encode()) & 0x7FFFFFFF) % partitions for number in range(graphs)]
    loads = np.bincount(places, weights=sizes, minlength=partitions)
    return Spread(float(sizes[0]), float(loads.max()), float(loads.max() * partitions / relations))


def plan_rows(writer_bytes: float, view_bytes: float) -> list[Row]:
    """Return a line for each case. Bytes are per relation, its share of documents and entities included."""
    usable = MACHINE_GIB * USABLE * GIB
    return [_row(relations, graphs, writer_bytes, view_bytes, usable) for relations, graphs in CASES]


def _row(relations: int, graphs: int, writer_bytes: float, view_bytes: float, usable: float) -> Row:
    found = spread(relations, graphs)
    writers = _gib(found.largest * writer_bytes), _gib(relations * writer_bytes)
    clusters = math.ceil(relations * view_bytes / usable)
    limit = f"{clusters} clusters, each with a share of the graphs" if clusters > 1 else "one cluster"
    if found.largest * view_bytes > usable:
        limit = "the largest graph does not fit a replica of that size: a larger machine, or divide the graph"
    value = f"write models {writers[0]} the largest, {writers[1]} all; views {_gib(relations * view_bytes)} a replica"
    skew = f"fullest of {PARTITIONS} partitions {found.skew:.1f} times the mean" if graphs > 1 else "one partition"
    return Row(
        f"{relations:,} relations in {graphs:,} graphs", value, f"{limit} (replicas of {MACHINE_GIB} GiB); {skew}"
    )


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB" if size < 100 * GIB else f"{size / GIB:,.0f} GiB"
