"""The Faust application of the extraction workers: settings, topic, agent. It makes no decision about a record.

Relied-on and avoided behaviour of Faust (shown by tests/contract/test_faust_traps.py, and for the last item by
tests/recovery/test_worker_rebalances.py):
- Faust acknowledges in a `finally`: the event of an agent that fails, or is cancelled, counts as done; and an event
that waits in a queue through a rebalance is acknowledged although no agent has seen it. So the topic is declared with
acks=False, Faust commits nothing, and `FaustConsumer.commit` commits what is done.
- With more than one instance of an agent, offsets run ahead of the records in flight: concurrency=1, and the stage
after the agent works on several records at once and commits in order.
- An agent that raises is restarted, and loses its position: this one only hands over.
- By default Faust creates topics, elects a leader, and serves HTTP on every address: all three are turned off.
- An application that is cancelled, or fails, while it starts continues by itself: its Kafka client has a thread of its
own, joins the group, stays in it by its heartbeat, and answers no rebalance, so that the other members wait for it.
Faust's own stop waits without end for a stuck thread. So a start always finishes before it is stopped, and `stop` ends
a remaining thread by force.
- Faust drops records that a fetch returns during a rebalance, then seeks to the committed offsets, but not in
partitions that have none: those records came after the next rebalance only. So the consumer seeks there, too.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import IllegalStateError
from faust.auth import SASLCredentials, SSLCredentials
from faust.transport.drivers import aiokafka
from faust.types import TP, EventT

from graphtide.infra.kafka.address import CLIENT_ID, METADATA_AGE_S, KafkaAddress

log = logging.getLogger("graphtide.kafka")

HandOver = Callable[[EventT[Any]], Awaitable[None]]

QUEUED = 32
"""Capacity of Faust's own queue of events; Faust stops fetching when it is full."""
REBALANCE_S = 10.0
"""Minimum time that the group gives a member to answer a rebalance. A worker answers at once, or is stuck."""
SCRATCH = Path(tempfile.gettempdir()) / "graphtide-faust"
"""Faust's data folder if the caller names none; Faust's default is a folder in the working folder."""
START_S = 10.0
STOP_S = 20.0
FORCE_S = 1.0
FORCED = 5
"""Rounds of cancelling the tasks of a stuck thread: each task may have one more step of cleanup."""


def extraction_app(address: KafkaAddress, group: str, session_timeout_s: float, folder: Path = SCRATCH) -> faust.App:
    """Return an application of the consumer group, without connecting; `register_agent` adds the agent.

    Faust creates its own data folder, `folder`, when it starts, although it stores nothing there; but not its parents.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    app = faust.App(
        address.group(group),
        broker=[f"kafka://{host}" for host in address.bootstrap.split(",")],
        broker_credentials=_credentials(address),
        broker_client_id=CLIENT_ID,
        processing_guarantee="at_least_once",
        key_serializer="raw",
        value_serializer="raw",
        store="memory://",
        datadir=Path(str(folder).replace("{", "{{").replace("}", "}}")),  # Faust formats the path
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        stream_wait_empty=False,
        stream_buffer_maxsize=QUEUED,
        broker_max_poll_records=QUEUED,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=4 << 20,
        consumer_metadata_max_age_ms=int(METADATA_AGE_S * 1000),
        broker_session_timeout=session_timeout_s,
        broker_heartbeat_interval=max(0.1, session_timeout_s / 10),
        broker_request_timeout=max(60.0, session_timeout_s * 2),
        broker_rebalance_timeout=max(REBALANCE_S, session_timeout_s),
        # A stage that waits for a model may consume nothing for hours; its heartbeat shows that it is alive.
        broker_max_poll_interval=24 * 3600.0,
        worker_redirect_stdouts=False,
        loghandlers=[],
    )
    app.transport = _Transport(app.conf.broker_consumer, app)
    return app


def register_agent(app: faust.App, topic: str, hand_over: HandOver) -> None:
    """Declare the agent, which hands over each event of the topic in order and takes no further one meanwhile."""
    declared = app.topic(topic, key_serializer="raw", value_serializer="raw", acks=False)

    @app.agent(declared, concurrency=1, name="hand-over")
    async def hand_over_each(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await hand_over(event)


async def start(app: faust.App) -> None:
    """Start the application in the running loop. The caller calls `stop` afterwards in any case."""
    app.finalize()
    app.loop = asyncio.get_running_loop()
    starting = asyncio.create_task(app.start(), name="faust-start")
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _end_within(starting, START_S)
        raise


async def stop(app: faust.App) -> None:
    """Leave the group in order, or by force after STOP_S: on return, no thread of the application is left."""
    stopping = asyncio.create_task(app.stop(), name="faust-stop")
    await _end_within(stopping, STOP_S)
    consumer: Any = app._consumer
    if consumer is not None:
        await _end_thread(consumer._thread)


async def _end_within(task: asyncio.Task[None], timeout_s: float) -> None:
    """Wait for a task's end, and cancel it after the timeout. Its failure is logged, not raised."""
    done, _ = await asyncio.wait({task}, timeout=timeout_s)
    if not done:
        task.cancel()
        log.warning("%s did not end in %g s", task.get_name(), timeout_s)
    elif not task.cancelled() and (error := task.exception()) is not None:
        log.warning("%s failed: %s", task.get_name(), error)


async def _end_thread(service: Any) -> None:
    """End the thread of Faust's Kafka client, if it still runs."""
    thread = service._thread
    for _ in range(FORCED):
        if thread is None or not thread.is_alive():
            return
        with suppress(RuntimeError):  # its loop is closed already
            service.thread_loop.call_soon_threadsafe(_cancel_all, service.thread_loop)
        await asyncio.to_thread(thread.join, FORCE_S)
    log.error("a thread of the Faust worker could not be ended; the group waits for it until its session expires")


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


class _Consumer(aiokafka.Consumer):
    """Faust's consumer, which also seeks in partitions without a committed offset.

    A fetch that was waiting while the group rebalanced takes records of the new assignment, and Faust drops them
    because its streams do not run yet. It then seeks to the committed offsets; without this, the records of a partition
    that has none would be delivered after the next rebalance only.
    """

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Return the committed offsets, after seeking to them, and to the start of partitions without one."""
        offsets: Mapping[TP, int] = await super().seek_to_committed()
        uncommitted = [tp for tp, offset in offsets.items() if not offset]
        if uncommitted:
            client: Any = self._thread._ensure_consumer()
            with suppress(IllegalStateError):  # reassigned in the meantime: its next assignment seeks again
                await self._thread.call_thread(client.seek_to_beginning, *uncommitted)
        return offsets


class _Transport(aiokafka.Transport):
    """Faust's transport with the consumer above."""

    Consumer = _Consumer


def _credentials(address: KafkaAddress) -> SASLCredentials | SSLCredentials | None:
    tls = address.tls()
    if address.has_sasl:
        return SASLCredentials(
            username=address.sasl_username,
            password=address.sasl_password,
            mechanism=address.sasl_mechanism,
            ssl_context=tls,
        )
    return None if tls is None else SSLCredentials(tls)
