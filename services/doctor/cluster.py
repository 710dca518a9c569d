"""Kafka and the graph database of the settings: are they there, do they let us in, is in them what must be."""

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

PATIENCE_S = 15.0
_INSTALL = "pip install 'graphtide[cluster]'"
_STOPPED = "documents are neither accepted nor processed"
_UNREAD = "no graph can be read or written"


async def cluster_findings(settings: Settings) -> AsyncIterator[DoctorFinding]:
    """Nothing where the settings name no cluster."""
    if settings.kafka:
        async for finding in _kafka(settings):
            yield finding
    if settings.bolt:
        async for finding in _bolt(settings):
            yield finding


async def _kafka(settings: Settings) -> AsyncIterator[DoctorFinding]:
    try:
        states = await _topics(settings)
    except ImportError:
        yield DoctorFinding("kafka", "the cluster's packages are not installed", _STOPPED, _INSTALL)
        return
    except (GraphtideError, TimeoutError) as error:
        said = str(error) or f"no answer within {PATIENCE_S:g} s"
        if isinstance(error, Broken):  # it says which setting to change
            cure = "change the settings that it names (docs/settings.md), or the user's rights on the brokers"
        else:
            cure = "start the brokers, or check GRAPHTIDE_KAFKA and its security protocol"
        yield DoctorFinding("kafka", f"{settings.kafka}: {said}", _STOPPED, cure)
        return
    for state in states:
        if not state.partitions:
            yield DoctorFinding("kafka", f"the topic {state.name} is not there", _STOPPED, "graphtide topics apply")
        elif state.changes or state.by_hand:
            what = f"the topic {state.name} is not as it should be: {'; '.join((*state.changes, *state.by_hand))}"
            yield DoctorFinding("kafka", what, "records may be lost or wait", "graphtide topics apply", serious=False)
    if all(state.partitions for state in states):
        async for finding in _letters(settings):
            yield finding


async def _topics(settings: Settings) -> Sequence[TopicState]:
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.topics import compare

    async with asyncio.timeout(PATIENCE_S):
        return await compare(kafka_address(settings))


async def _letters(settings: Settings) -> AsyncIterator[DoctorFinding]:
    try:
        waiting = await _waiting(settings)
    except (GraphtideError, TimeoutError) as error:
        why = "whether documents failed is not known"
        yield DoctorFinding(
            "dead letters", f"they cannot be read: {error}", why, "graphtide topics apply", serious=False
        )
        return
    for graph, count in sorted(waiting.items()):
        named = f"graph {graph}" if graph else "no graph that could be told"
        what = f"{count} dead letters of {named} wait for somebody to deal with them"
        why = "their documents are not in the graph as they are now"
        quoted = graph or f"'{NO_GRAPH}'"
        yield DoctorFinding("dead letters", what, why, f"graphtide dlq list --graph {quoted}", serious=False)


async def _waiting(settings: Settings) -> Mapping[str, int]:
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.log import KafkaLog
    from graphtide.streams.dead_letters.queue import count_dead_letters

    log = KafkaLog(kafka_address(settings))
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await count_dead_letters(log)
    finally:
        await log.close()


async def _bolt(settings: Settings) -> AsyncIterator[DoctorFinding]:
    try:
        await _asked(settings)
    except ImportError:
        yield DoctorFinding("bolt", "the cluster's packages are not installed", _UNREAD, _INSTALL)
    except (GraphtideError, TimeoutError) as error:
        said = str(error) or f"{settings.bolt} did not answer within {PATIENCE_S:g} s"
        yield DoctorFinding("bolt", said, _UNREAD, _cure(said, isinstance(error, Broken)))


async def _asked(settings: Settings) -> None:
    """Connect, and have the database of the settings answer."""
    from graphtide.infra.bolt.database import BoltDatabase
    from graphtide.services.cluster.wiring import bolt_address

    async with asyncio.timeout(PATIENCE_S):
        database = await BoltDatabase.connect(bolt_address(settings))
        try:
            await database.read(lambda transaction: transaction.run("RETURN 1 AS one"))
        finally:
            await database.close()


def _cure(said: str, settled: bool) -> str:
    if "credentials" in said:
        return "set GRAPHTIDE_BOLT_USER and GRAPHTIDE_BOLT_PASSWORD"
    if "DatabaseNotFound" in said:
        return "set GRAPHTIDE_BOLT_DATABASE to one that is there (SHOW DATABASES), or leave it out for the default"
    if settled:
        return "change the settings that it names (docs/settings.md)"
    return "start the database, or check GRAPHTIDE_BOLT, such as bolt://host:7687, and GRAPHTIDE_BOLT_CA_FILE"
