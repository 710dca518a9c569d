"""The child process that runs Leiden: it answers one message of arrays with another until its input ends.

    python -P -m graphtide.infra.communities.leiden_child

A request is edges (m, 2) and weights (m,); the reply is nodes (n,), labels (n,) and the modularity (1,).
"""

from __future__ import annotations

import sys
from typing import BinaryIO

import numpy as np

from graphtide.graph.communities.drift import leiden
from graphtide.infra.communities.array_messages import LENGTH, decode_arrays, encode_arrays


def answer_requests(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until the input ends."""
    while len(head := requests.read(LENGTH.size)) == LENGTH.size:
        edges, weights = decode_arrays(requests.read(*LENGTH.unpack(head)))
        found = leiden(edges.astype(np.int32), weights.astype(np.int64))
        replies.write(encode_arrays((found.nodes, found.labels, np.array([found.modularity]))))
        replies.flush()


if __name__ == "__main__":
    answer_requests(sys.stdin.buffer, sys.stdout.buffer)
