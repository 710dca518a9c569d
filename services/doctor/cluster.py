"""The doctor's checks of Kafka and the graph database: reachability, credentials and required content."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING

from graphtide.infra.settings import Settings
from graphtide.services.api.schema.envelope import NO_GRAPH
from graphtide.services.doctor import DoctorFinding
from graphtide.streams.errors import Broken, GraphtideError

if TYPE_CHECKING:
    from graphtide.infra.kafka.topics import TopicState

TIMEOUT_S = 15.0
_INSTALL = "pip install 'graphtide[cluster]'"
_STOPPED = "documents are neither accepted nor processed"
_UNREAD = "no graph can be read or written"


async def cluster_findings(settings: Settings, timeout_s: float = TIMEOUT_S) -> AsyncIterator[DoctorFinding]:
    """Yield the findings of the cluster; none when the settings name no cluster.

    A server that does not answer a check within `timeout_s` is a finding.
    """
    if settings.kafka:
        async for finding in _kafka(settings, timeout_s):
            yield finding
    if settings.bolt:
        async for finding in _bolt(settings, timeout_s):
            yield finding


async def _kafka(settings: Settings, timeout_s: float) -> AsyncIterator[DoctorFinding]:
    try:
        async with asyncio.timeout(timeout_s):
            states = await _topics(settings)
    except ImportError:
        yield DoctorFinding("kafka", "the cluster's packages are not installed", _STOPPED, _INSTALL)
        return
    except (GraphtideError, TimeoutError) as error:
        message = str(error) or f"no answer within {timeout_s:g} s"
        if isinstance(error, Broken):  # the message names the setting to change
            cure = "change the settings that the message names (docs/settings.md), or the user's rights on the brokers"
        else:
            cure = "start the brokers, or check GRAPHTIDE_KAFKA and its security protocol"
        yield DoctorFinding("kafka", f"{settings.kafka}: {message}", _STOPPED, cure)
        return
    for state in states:
        if not state.partitions:
            yield DoctorFinding("kafka", f"the topic {state.name} does not exist", _STOPPED, "graphtide topics apply")
        elif state.changes or state.by_hand:
            differences = "; ".join((*state.changes, *state.by_hand))
            what = f"the topic {state.name} differs from its required configuration: {differences}"
            yield DoctorFinding("kafka", what, "records may be lost or wait", "graphtide topics apply", serious=False)
    if all(state.partitions for state in states):
        async for finding in _letters(settings, timeout_s):
            yield finding


async def _topics(settings: Settings) -> Sequence[TopicState]:
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.topics import compare

    return await compare(kafka_address(settings))


async def _letters(settings: Settings, timeout_s: float) -> AsyncIterator[DoctorFinding]:
    try:
        async with asyncio.timeout(timeout_s):
            waiting = await _waiting(settings)
    except (GraphtideError, TimeoutError) as error:
        what = f"the dead letters cannot be read: {str(error) or f'no answer within {timeout_s:g} s'}"
        why = "it is unknown whether documents failed"
        yield DoctorFinding("dead letters", what, why, "graphtide topics apply", serious=False)
        return
    for graph, count in sorted(waiting.items()):
        named = f"graph {graph}" if graph else "an unknown graph"
        what = f"{count} dead letters of {named} are unresolved"
        why = "the newest revisions of their documents are not in the graph"
        quoted = graph or f"'{NO_GRAPH}'"
        yield DoctorFinding("dead letters", what, why, f"graphtide dlq list --graph {quoted}", serious=False)


async def _waiting(settings: Settings) -> Mapping[str, int]:
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.log import KafkaLog
    from graphtide.streams.dead_letters.queue import count_dead_letters

    log = KafkaLog(kafka_address(settings))
    try:
        return await count_dead_letters(log)
    finally:
        await log.close()


async def _bolt(settings: Settings, timeout_s: float) -> AsyncIterator[DoctorFinding]:
    try:
        async with asyncio.timeout(timeout_s):
            await _asked(settings)
    except ImportError:
        yield DoctorFinding("bolt", "the cluster's packages are not installed", _UNREAD, _INSTALL)
    except (GraphtideError, TimeoutError) as error:
        message = str(error) or f"{settings.bolt} did not answer within {timeout_s:g} s"
        yield DoctorFinding("bolt", message, _UNREAD, _cure(message, isinstance(error, Broken)))


async def _asked(settings: Settings) -> None:
    """Connect to the database of the settings, and run one query."""
    from graphtide.infra.bolt.database import BoltDatabase
    from graphtide.services.cluster.wiring import bolt_address

    database = await BoltDatabase.connect(bolt_address(settings))
    try:
        await database.read(lambda transaction: transaction.run("RETURN 1 AS one"))
    finally:
        await database.close()


def _cure(message: str, permanent: bool) -> str:
    if "credentials" in message:
        return "set GRAPHTIDE_BOLT_USER and GRAPHTIDE_BOLT_PASSWORD"
    if "DatabaseNotFound" in message:
        return "set GRAPHTIDE_BOLT_DATABASE to an existing one (SHOW DATABASES), or unset it for the default"
    if permanent:
        return "change the settings that the message names (docs/settings.md)"
    return "start the database, or check GRAPHTIDE_BOLT, such as bolt://host:7687, and GRAPHTIDE_BOLT_CA_FILE"
