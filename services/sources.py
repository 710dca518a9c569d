"""The tasks that read other systems' topics, one for each mapping of the sources file.

They run in the embedded service, and in each extraction worker of a cluster. All are members of the topic's consumer
group, so the workers share its partitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from prometheus_client import CollectorRegistry

from graphtide.infra.observability.metrics.sources import SourceMetrics
from graphtide.infra.settings import Settings
from graphtide.infra.sources.decoder import MappedTopics
from graphtide.infra.sources.mapping import SourcesFile, load_sources
from graphtide.infra.sources.registry import open_registry
from graphtide.services.access.limits.pending import PendingRevisions
from graphtide.services.health import Dependency
from graphtide.services.process.background_tasks import start, stop
from graphtide.streams.errors import Broken, Overloaded, Retryable
from graphtide.streams.ports import Consumer, Log, Record
from graphtide.streams.sources.stage import Accept, SourceStage


@dataclass(frozen=True, slots=True)
class SourceTarget:
    """Destination of the records: `accept` takes the documents, `log` the dead letters."""

    accept: Accept
    log: Log


def mapped_sources(settings: Settings) -> SourcesFile:
    """Return the mappings of the settings. Raises Broken for wrong ones, and for topics without a broker."""
    file = load_sources(settings.sources_file, settings.sources)
    if file.topics() and not settings.kafka:
        first = next(iter(file.topics()))
        raise Broken(f"the sources map the topic {first}, and no broker is set: set GRAPHTIDE_KAFKA")
    return file


def bounded_accept(accept: Accept, pending: PendingRevisions) -> Accept:
    """Return `accept` with the limit of pending revisions that callers of the service obey: at it, a topic waits."""

    async def accept_within_limit(records: Sequence[Record]) -> object:
        for graph, count in Counter(record.key.partition("|")[0] for record in records).items():
            try:
                await pending.admit(graph, count)
            except Overloaded as error:
                raise Retryable(str(error), error.retry_after_s) from error
        return await accept(records)

    return accept_within_limit


@asynccontextmanager
async def source_tasks(
    settings: Settings,
    file: SourcesFile,
    open_consumer: Callable[[str], Consumer],
    target: SourceTarget,
    registry: CollectorRegistry,
) -> AsyncIterator[dict[str, str]]:
    """Read the topics of the file during the block. Yields the reason why each topic waits, "" while it is read."""
    topics, notes = file.topics(), dict[str, str]()
    schemas = open_registry(settings)
    decoder, metrics = MappedTopics(topics, schemas), SourceMetrics(registry, topics)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(schemas.close)
        tasks = []
        for topic in topics:
            stage = SourceStage(topic, partial(open_consumer, topic), target.accept, target.log, decoder, metrics)
            tasks.append(start(task_name(topic), stage.run, notes))
        stack.push_async_callback(stop, tasks)
        yield notes


def source_states(topics: Iterable[str], notes: Mapping[str, str]) -> tuple[Dependency, ...]:
    """Return the health of the topics. One that is missing, or waits for a registry, makes no process unready."""

    def state_of(name: str) -> Dependency:
        async def trouble() -> str:
            return notes.get(name, "")

        return Dependency(name, trouble, needed=False)

    return tuple(state_of(task_name(topic)) for topic in topics)


def task_name(topic: str) -> str:
    """Return the name of the task that reads the topic."""
    return f"source {topic}"


@asynccontextmanager
async def kafka_source_tasks(
    settings: Settings, file: SourcesFile, target: SourceTarget, registry: CollectorRegistry
) -> AsyncIterator[dict[str, str]]:
    """Read the topics in a service whose own log is not on Kafka."""
    from graphtide.infra.kafka.address import kafka_address
    from graphtide.infra.kafka.log import KafkaLog, KafkaTuning

    broker = KafkaLog(kafka_address(settings), KafkaTuning(session_timeout_s=settings.kafka_session_timeout_s))
    try:
        async with source_tasks(settings, file, broker.source_consumer, target, registry) as notes:
            yield notes
    finally:
        await broker.close()
