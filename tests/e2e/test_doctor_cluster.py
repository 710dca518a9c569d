"""The doctor and a live cluster's servers, each component really broken: it names the defect and the remedy."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from graphtide.infra.bolt.database import MEMGRAPH
from graphtide.infra.kafka import topics
from graphtide.infra.kafka.address import KafkaAddress
from graphtide.infra.kafka.log import KafkaLog
from graphtide.infra.settings import BudgetSetting, PriceSetting, Settings
from graphtide.services.api.http.app import create_app
from graphtide.services.application import QueryRequest
from graphtide.services.cli.client import Client
from graphtide.services.doctor import DoctorFinding
from graphtide.services.doctor.cluster import cluster_findings
from graphtide.services.doctor.running import running_findings
from graphtide.services.local_application import LocalApplication
from graphtide.services.wiring import open_application
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import discard, list_dead_letters
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.log.topics import TOPICS
from graphtide.streams.messages import DeadLetter, DocumentMessage
from tests.support.kafka_server import KafkaServer, fresh, make_topic
from tests.support.llm_server import LlmServer
from tests.support.neo4j_server import GraphServer, is_memgraph
from tests.support.serving import http_service

TIMEOUT_S = 300.0
WRONG = "not-the-password-7f3a"
TEXT = "Halden Station was founded in 1961 by Ida Moreau. Aurora carried Tor Ruud to Skarv Island."


async def found(settings: Settings, timeout_s: float = TIMEOUT_S) -> list[DoctorFinding]:
    """Return the doctor's findings in the cluster of the settings, however slow the machine is."""
    return [each async for each in cluster_findings(settings, timeout_s)]


def on(address: KafkaAddress) -> Settings:
    return Settings(kafka=address.bootstrap, kafka_prefix=address.prefix)


def at(server: GraphServer, **changed: object) -> Settings:
    bolt = server.address
    given = {"bolt": bolt.uri, "bolt_user": bolt.user, "bolt_password": SecretStr(bolt.password)}
    return Settings(**{**given, **changed})  # type: ignore[arg-type]


async def test_topic_is_found_missing_or_with_a_wrong_setting(kafka: KafkaServer) -> None:
    """No topic exists; one has other settings than the table's; no finding once they are applied."""
    address = fresh(kafka)
    make_topic(kafka, address.topic("deltas"), 12, {"retention.ms": "60000"})
    findings = await found(on(address))
    missing = [each for each in findings if each.serious]
    assert len(missing) == len(TOPICS) - 1 and all("does not exist" in each.what for each in missing)
    [wrong] = [each for each in findings if not each.serious]
    assert "retention.ms" in wrong.what and {each.cure for each in findings} == {"graphtide topics apply"}
    await topics.apply(address, None)
    assert await found(on(address)) == []


async def test_dead_letters_are_found_until_somebody_deals_with_them(kafka: KafkaServer) -> None:
    """They are reported by graph, with the command that lists them."""
    address = fresh(kafka)
    await topics.apply(address, None)
    log = KafkaLog(address)
    try:
        for number in range(2):
            await write_dead_letter(log, DeadLetter("notes", f"d{number}", number, "extract", "no text", 1, b""))
        [finding] = await found(on(address))
        assert "2 dead letters of graph notes" in finding.what and finding.cure == "graphtide dlq list --graph notes"
        await write_dead_letter(log, DeadLetter("", "", 3, "extract", "the key names no graph", 1, b""))
        [unnamed, _] = await found(on(address))
        assert unnamed.cure == "graphtide dlq list --graph '*'"
        for graph in ("notes", ""):
            for one in await list_dead_letters(log, graph):
                await discard(DeadLetterIndex(log), graph, one.id)
        assert await found(on(address)) == []
    finally:
        await log.close()


async def test_graph_database_is_found_refusing_the_login_or_without_the_database(graph_server: GraphServer) -> None:
    """Each finding names the setting to change, and never the password; a correct login has no finding."""
    if is_memgraph(graph_server.address):
        pytest.skip(f"{MEMGRAPH} lets everybody in, and has one database")
    assert await found(at(graph_server)) == []
    [login] = await found(at(graph_server, bolt_password=SecretStr(WRONG)))
    assert "GRAPHTIDE_BOLT_PASSWORD" in login.cure and WRONG not in str(login)
    [database] = await found(at(graph_server, bolt_database="nowhere"))
    assert "nowhere" in database.what and "GRAPHTIDE_BOLT_DATABASE" in database.cure


async def test_servers_that_are_not_there_are_found() -> None:
    """One server refuses connections, one accepts and never answers: both checks end within the timeout."""
    [kafka, bolt] = await found(Settings(kafka="127.0.0.1:9", bolt="bolt://127.0.0.1:9"))
    assert "start the brokers" in kafka.cure and "start the database" in bolt.cure
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts connections, and never reads
        port = silent.getsockname()[1]
        [kafka, bolt] = await found(Settings(kafka=f"127.0.0.1:{port}", bolt=f"bolt://127.0.0.1:{port}"), 0.5)
        assert "no answer within" in kafka.what and "did not answer within" in bolt.what


async def test_budget_that_is_used_up_is_found(tmp_path: Path) -> None:
    """A graph of the service spent its daily budget: the doctor names the graph and the settings."""
    with LlmServer() as server:
        named = {"llm_base_url": server.base_url, "llm_model": "m", "llm_api_key": SecretStr("sk-test")}
        budget = {"budgets": {"g": BudgetSetting(cost=0.000001)}, "prices": {"m": PriceSetting(prompt=2, completion=8)}}
        async with open_application(Settings(data=tmp_path, **named, **budget)) as application:  # type: ignore[arg-type]
            await application.publish([DocumentMessage("g", "a", TEXT)])
            async with http_service(create_app(application)) as url:
                findings: list[DoctorFinding] = []
                async with asyncio.timeout(60):
                    while not findings:
                        findings = [one for one in await findings_of(url) if "budget" in one.what]
    assert any("GRAPHTIDE_BUDGET_TOKENS_PER_DAY" in one.cure for one in findings)


async def test_index_that_is_behind_its_graph_is_found(tmp_path: Path) -> None:
    """A vector is removed from the live index: the doctor reports the count, and names the command."""
    async with open_application(Settings(data=tmp_path)) as application:
        assert isinstance(application, LocalApplication)
        receipt = await application.publish([DocumentMessage("g", "a", TEXT)])
        await application.query("g", QueryRequest("Who founded Halden Station?", after=receipt.token))
        async with http_service(create_app(application)) as url:
            assert not [one for one in await findings_of(url) if one.serious]
            view = application._runtime.views.get("g")
            assert view is not None
            view.indexes.chunks.remove(np.array([next(iter(view.chunks))], np.int64))
            [finding] = [one for one in await findings_of(url) if one.about == "indexes"]
    assert (
        "the chunks index of graph g contains 0 of 1" in finding.what and finding.cure == "graphtide rebuild --graph g"
    )


async def findings_of(url: str) -> list[DoctorFinding]:
    """Return the doctor's findings about a running service."""

    def ask() -> list[DoctorFinding]:
        with Client(url, print) as client:
            return list(running_findings(client, 30.0))

    return await asyncio.to_thread(ask)
