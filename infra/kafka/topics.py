"""Topics on a cluster, compared with the table in `streams/log/topics.py`, and corrected where that is safe.

A topic is created, or gets more partitions or other settings. Changes that only the operator can decide are reported:
partitions are never removed, nothing else in the cluster changes. Only a purge deletes records.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.connection_diagnosis import unreached
from graphtide.infra.kafka.errors import DRIVER_ERRORS, failure
from graphtide.streams.log.topics import TOPICS, Topic

REPLICAS = 3
SETTLE_S = 30.0


@dataclass(frozen=True, slots=True)
class TopicState:
    """State of a topic: the cluster's values, the changes to make, and the changes that the operator has to make."""

    name: str
    partitions: int
    replicas: int
    settings: Mapping[str, str]
    changes: tuple[str, ...] = ()
    by_hand: tuple[str, ...] = ()


async def delete_before(address: KafkaAddress, topic: str, offsets: Mapping[int, int]) -> None:
    """Delete the records of the topic before these offsets, by partition. They cannot be read again."""
    places = {TopicPartition(address.topic(topic), number): offset for number, offset in offsets.items()}
    if not places:
        return
    async with admin_client(address) as admin:
        await admin.delete_records({place: RecordsToDelete(before_offset=offset) for place, offset in places.items()})


@asynccontextmanager
async def admin_client(address: KafkaAddress) -> AsyncIterator[AIOKafkaAdminClient]:
    """Yield an administrator's connection. Errors of the driver inside the block become errors of Graphtide."""
    admin = AIOKafkaAdminClient(**address.client_options())
    try:
        try:
            await admin.start()
        except DRIVER_ERRORS as error:
            raise await unreached(address, error, f"connecting to {address.bootstrap}") from error
        yield admin
    except DRIVER_ERRORS as error:
        raise failure(error, "administering topics") from error
    finally:
        await admin.close()


async def compare(address: KafkaAddress, partitions: int | None = None) -> Sequence[TopicState]:
    """Return the state of each topic of the table, with the changes of `apply`. `partitions` overrides the table's."""
    async with admin_client(address) as admin:
        return [(await _compared(admin, address, topic, partitions))[0] for topic in TOPICS]


async def apply(address: KafkaAddress, partitions: int | None = None) -> Sequence[TopicState]:
    """Change the topics to match the table, and return the changes. A second call changes nothing."""
    async with admin_client(address) as admin:
        states = []
        for topic in TOPICS:
            state, wanted = await _compared(admin, address, topic, partitions)
            if state.changes:
                await _change(admin, address, topic, state, wanted)
                await wait_for_partitions(admin, address.topic(topic.name), max(wanted, state.partitions))
            states.append(state)
        return states


async def wait_for_partitions(admin: AIOKafkaAdminClient, name: str, partitions: int) -> None:
    """Return once the cluster shows the topic with this many partitions: its answer comes before all brokers
    know them.
    """
    async with asyncio.timeout(SETTLE_S):
        while True:
            for topic in await admin.describe_topics(None):
                led = [each for each in topic["partitions"] if each["leader"] >= 0]
                if topic["topic"] == name and len(led) >= partitions:
                    return
            await asyncio.sleep(0.05)


async def _compared(
    admin: AIOKafkaAdminClient, address: KafkaAddress, topic: Topic, partitions: int | None
) -> tuple[TopicState, int]:
    name, wanted = address.topic(topic.name), _wanted(topic, partitions)
    described = {each["topic"]: each for each in await admin.describe_topics(None)}
    if name not in described:
        brokers = len((await admin.describe_cluster())["brokers"])
        replicas = min(REPLICAS, brokers)
        return TopicState(name, 0, replicas, {}, (f"create it with {wanted} partitions",)), wanted
    has = described[name]["partitions"]
    settings = await _settings(admin, name)
    changes = [
        f"set {setting} to {value} (now {settings.get(setting)})"
        for setting, value in topic.settings.items()
        if settings.get(setting) != value
    ]
    by_hand = []
    if len(has) < wanted:
        changes.append(f"add partitions: {wanted} (now {len(has)})")
    if len(has) > wanted:
        by_hand.append(
            f"it has {len(has)} partitions, not {wanted}: Kafka removes none; keep it, or delete and create it again"
        )
    replicas = min(len(each["replicas"]) for each in has)
    return TopicState(name, len(has), replicas, settings, tuple(changes), tuple(by_hand)), wanted


def _wanted(topic: Topic, partitions: int | None) -> int:
    """Return the partition count. One is enough for dead letters: they are few, and read as a whole."""
    return topic.partitions if partitions is None or topic.partitions == 1 else partitions


async def _settings(admin: AIOKafkaAdminClient, name: str) -> dict[str, str]:
    [response] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    [(code, message, _, _, entries)] = response.resources
    _check(code, message)
    return {entry[0]: str(entry[1]) for entry in entries}


async def _change(
    admin: AIOKafkaAdminClient, address: KafkaAddress, topic: Topic, state: TopicState, wanted: int
) -> None:
    name = address.topic(topic.name)
    if not state.partitions:
        made = await admin.create_topics([NewTopic(name, wanted, state.replicas, topic_configs=topic.settings)])
        for _, code, message in made.topic_errors:
            _check(code, message)
        return
    if state.partitions < wanted:
        await admin.create_partitions({name: NewPartitions(wanted)})
    if any(change.startswith("set ") for change in state.changes):
        # The call replaces all settings of the topic: settings of other tools are sent along.
        own = await _own_settings(admin, name)
        resource = ConfigResource(ConfigResourceType.TOPIC, name, {**own, **topic.settings})
        for response in await admin.alter_configs([resource]):
            for code, message, *_ in response.resources:
                _check(code, message)


async def _own_settings(admin: AIOKafkaAdminClient, name: str) -> dict[str, str]:
    """Return the settings of the topic itself, without those inherited from the brokers."""
    [response] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    [(code, message, _, _, entries)] = response.resources
    _check(code, message)
    return {entry[0]: str(entry[1]) for entry in entries if not _is_default(entry)}


def _is_default(entry: Sequence[object]) -> bool:
    """Return whether a setting is inherited.

    The fourth field is `is_default` in version 0 of the answer, and the source of the value (1: the topic) later.
    """
    return entry[3] is True or (not isinstance(entry[3], bool) and entry[3] != 1)


def _check(code: int, message: str | None) -> None:
    if code:
        raise for_code(code)(message or "")
