"""Kafka and the graph database of the settings: are they there, do they let us in, is in them what must be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from infra.settings import Settings
from services.doctor import Finding
from streams.errors import GraphtideError

if TYPE_CHECKING:
    from infra.kafka.topics import TopicState

PATIENCE_S = 15.0
_INSTALL = "pip install 'graphtide[cluster]'"


async def cluster_findings(settings: Settings) -> AsyncIterator[Finding]:
    """Nothing where the settings name no cluster."""
    if settings.kafka:
        async for finding in _kafka(settings):
            yield finding
    if settings.bolt:
        async for finding in _bolt(settings):
            yield finding


async def _kafka(settings: Settings) -> AsyncIterator[Finding]:
    why = "documents are neither accepted nor processed"
    try:
        states = await _topics(settings)
    except ImportError:
        yield Finding("kafka", "the cluster's packages are not installed", why, _INSTALL)
        return
    except (GraphtideError, TimeoutError) as error:
        said = str(error) or f"no answer within {PATIENCE_S:g} s"
        cure = "start the brokers, or check GRAPHTIDE_KAFKA, its security protocol and its credentials"
        yield Finding("kafka", f"{settings.kafka}: {said}", why, cure)
        return
    for state in states:
        if not state.partitions:
            yield Finding("kafka", f"the topic {state.name} is not there", why, "graphtide topics apply")
        elif state.changes or state.by_hand:
            what = f"the topic {state.name} is not as it should be: {'; '.join((*state.changes, *state.by_hand))}"
            yield Finding("kafka", what, "records may be lost or wait", "graphtide topics apply", serious=False)


async def _topics(settings: Settings) -> Sequence[TopicState]:
    from infra.kafka.address import KafkaAddress
    from infra.kafka.topics import compare

    address = KafkaAddress(settings.kafka, **_given(settings, "kafka_", KafkaAddress))
    async with asyncio.timeout(PATIENCE_S):
        return await compare(address)


def _given(settings: Settings, prefix: str, kind: Any) -> dict[str, Any]:
    """The settings of that prefix that the value has a field for, secrets opened."""
    values = {name: getattr(settings, prefix + name, "") for name in kind.__dataclass_fields__}
    opened = {name: each.get_secret_value() if isinstance(each, SecretStr) else each for name, each in values.items()}
    return {name: value for name, value in opened.items() if value}


async def _bolt(settings: Settings) -> AsyncIterator[Finding]:
    why = "no graph can be read or written"
    try:
        from neo4j import AsyncGraphDatabase, TrustCustomCAs
        from neo4j.exceptions import AuthError, DriverError, Neo4jError
    except ImportError:
        yield Finding("bolt", "the cluster's packages are not installed", why, _INSTALL)
        return
    user, secret = str(getattr(settings, "bolt_user", "")), getattr(settings, "bolt_password", SecretStr(""))
    login = (user, secret.get_secret_value()) if user else None
    ca = str(getattr(settings, "bolt_ca_file", ""))
    trust: dict[str, Any] = {"encrypted": True, "trusted_certificates": TrustCustomCAs(ca)} if ca else {}
    try:
        async with asyncio.timeout(PATIENCE_S):
            async with AsyncGraphDatabase.driver(settings.bolt, auth=login, connection_timeout=5.0, **trust) as driver:
                await driver.verify_connectivity()
    except AuthError:
        yield Finding("bolt", f"{settings.bolt} refuses the login", why, "set GRAPHTIDE_BOLT_USER and _PASSWORD")
    except (DriverError, Neo4jError, OSError, TimeoutError, ValueError) as error:
        what = f"{settings.bolt} cannot be reached ({type(error).__name__})"
        yield Finding("bolt", what, why, "start the database, or check GRAPHTIDE_BOLT, such as bolt://host:7687")
