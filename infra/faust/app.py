"""The Faust application of the extraction workers: settings, topic, agent. It decides nothing about a record.

What is relied on, and what is kept away from (tests/contract/test_faust_traps.py shows each of them):
- Faust acknowledges in a `finally`: an agent that fails, or is cancelled, has its event taken as done; and an event
  that waits in a queue through a rebalance is acknowledged without anybody having seen it. So the topic is declared
  with acks=False, Faust commits nothing, and `FaustConsumer.commit` says what is done.
- With more than one instance of an agent offsets run past what is under way: concurrency=1, and the stage behind the
  agent works on several records at once and commits in order.
- An agent that raises is restarted, and loses its place: this one only hands over.
- Faust makes topics, elects a leader, and serves HTTP on every address, unless it is told not to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import faust
from faust.auth import SASLCredentials, SSLCredentials
from faust.types import EventT

from infra.kafka.address import CLIENT_ID, KafkaAddress

HandOver = Callable[[EventT[Any]], Awaitable[None]]

QUEUED = 32
"""Events that wait in Faust's own queue; behind them it stops fetching."""


def extraction_app(address: KafkaAddress, group: str, session_timeout_s: float) -> faust.App:
    """An application of the consumer group, to be given an agent by `hand_over_to`. Nothing is connected yet."""
    return faust.App(
        address.group(group),
        broker=[f"kafka://{host}" for host in address.bootstrap.split(",")],
        broker_credentials=_credentials(address),
        broker_client_id=CLIENT_ID,
        processing_guarantee="at_least_once",
        key_serializer="raw",
        value_serializer="raw",
        store="memory://",
        topic_allow_declare=False,
        topic_disable_leader=True,
        web_enabled=False,
        stream_wait_empty=False,
        stream_buffer_maxsize=QUEUED,
        broker_max_poll_records=QUEUED,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=4 << 20,
        broker_session_timeout=session_timeout_s,
        broker_heartbeat_interval=max(0.1, session_timeout_s / 10),
        broker_request_timeout=max(60.0, session_timeout_s * 2),
        broker_rebalance_timeout=max(60.0, session_timeout_s * 2),
        # A stage that waits for a model takes nothing, for hours if need be; its heartbeat says that it lives.
        broker_max_poll_interval=24 * 3600.0,
        worker_redirect_stdouts=False,
        loghandlers=[],
    )


def hand_over_to(app: faust.App, topic: str, hand_over: HandOver) -> None:
    """Declare the agent: each event of the topic is handed over, in order; while that waits, nothing more is taken."""
    declared = app.topic(topic, key_serializer="raw", value_serializer="raw", acks=False)

    @app.agent(declared, concurrency=1, name="hand-over")
    async def hand_over_each(stream: faust.StreamT[bytes]) -> None:
        async for event in stream.events():
            await hand_over(event)


async def start(app: faust.App) -> None:
    """Start the application in the running loop."""
    app.finalize()
    app.loop = asyncio.get_running_loop()
    await app.start()


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
