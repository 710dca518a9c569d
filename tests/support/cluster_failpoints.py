"""A process of a cluster that kills itself at a failpoint, with the points of this module instead of `failpoints.py`'s.

`python -m tests.support.cluster_failpoints worker extract …`
"""

from __future__ import annotations

import os
import sys

import graphtide.streams.extract.stage
from graphtide.infra.bolt.graph_store.store import BoltStore
from graphtide.infra.bolt.ledger import BoltLedger
from graphtide.infra.faust.consumer import FaustConsumer
from graphtide.infra.kafka.consumer import KafkaConsumer
from graphtide.infra.kafka.log import KafkaLog
from graphtide.streams.consolidate import graph_deletion
from graphtide.streams.consolidate.graph_deletion import GraphEraser
from graphtide.streams.messages import DEAD_LETTERS, DELTAS, EXTRACTIONS
from tests.support import failpoints
from tests.support.failpoints import Point

POINTS = {
    "appended-not-entered": Point(BoltLedger, "_register", before=True),
    "accepted": Point(BoltLedger, "accept"),
    "attempt-counted": Point(BoltLedger, "start_attempt"),
    "before-model": Point(graphtide.streams.extract.stage, "extract_slices", before=True),
    "after-model": Point(graphtide.streams.extract.stage, "extract_slices"),
    "extraction-appended": Point(KafkaLog, "append", topic=EXTRACTIONS),
    "before-extract-position": Point(FaustConsumer, "commit", before=True),
    "claimed": Point(BoltStore, "claim"),
    "before-transaction": Point(BoltStore, "commit", before=True),
    "in-transaction": Point(BoltStore, "_commit"),
    "committed-not-relayed": Point(BoltStore, "commit"),
    "relayed-not-marked": Point(KafkaLog, "append", topic=DELTAS),
    "before-position": Point(KafkaConsumer, "commit", before=True),
    "letters-marked": Point(GraphEraser, "leave_marks"),
    "portion-erased": Point(BoltStore, "erase"),
    "before-dead-letter": Point(KafkaLog, "append", before=True, topic=DEAD_LETTERS),
    "dead-letter": Point(KafkaLog, "append", topic=DEAD_LETTERS),
}

if __name__ == "__main__":
    from graphtide.services.cli import main

    graph_deletion.ERASE_BATCH_SIZE = 4  # the deletion of a small graph takes several portions
    failpoints.POINTS.clear()
    failpoints.POINTS.update(POINTS)
    failpoints.arm_to_kill(os.environ.pop(failpoints.VARIABLE))
    sys.argv[0] = "graphtide"
    main()
