"""Fixtures of monitoring tests: the service under load, the roles of a cluster, and a Prometheus that scrapes them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from graphtide.services.application import QueryRequest
from graphtide.streams.messages import DocumentMessage
from tests.support.collector import Collector
from tests.support.endpoints import status
from tests.support.llm_faults import FAULTS
from tests.support.llm_server import LlmServer, Seen
from tests.support.maven import Unavailable
from tests.support.processes import service
from tests.support.prometheus import Programs, Prometheus, programs, running
from tests.support.watched import watched_roles

RULES = Path(__file__).parents[2] / "infra" / "prometheus" / "rules.yml"
POISON = "No model can read this passage."


@pytest.fixture(scope="module")
def tools() -> Programs:
    try:
        return programs()
    except Unavailable as missing:
        pytest.skip(str(missing))


@dataclass
class Watched:
    """The fixture's parts: a Prometheus that has seen the load, and its targets."""

    prometheus: Prometheus
    targets: list[str]


def endpoints_of(llm: LlmServer, collector: Collector) -> dict[str, str]:
    return {"GRAPHTIDE_LLM_BASE_URL": llm.base_url, "GRAPHTIDE_OTLP_ENDPOINT": collector.endpoint}


def unreadable(seen: Seen) -> str | None:
    return "no JSON" if POISON in seen.asked else None


def load(url: str, number: int) -> None:
    """Send documents, an edit, a deletion, questions in two modes, an invalid and a standing question, to three graphs.

    Read one change of the feed.
    """
    with httpx.Client(base_url=url, timeout=60) as client:
        token, first = "", ""
        for place in range(6):
            text = f"Ada Lovelace {number} met Charles Babbage {place} in London. Babbage {place} designed an engine."
            put = client.put(f"/v1/graphs/g/documents/d{place}", json={"text": text})
            token = put.raise_for_status().json()["token"]
            first = first or token
        client.put(f"/v1/graphs/g/documents/poison{number}", json={"text": POISON})
        client.put("/v1/graphs/poor/documents/a", json={"text": f"Rosa Delgado {number} sails the ship Meridian."})
        for mode in ("local", "vector", "no-such-mode"):
            client.post("/v1/graphs/g/query", json={"question": "Who met Babbage?", "mode": mode, "after": token})
        client.put("/v1/graphs/g/questions/q", json={"question": "Who met Babbage?", "mode": "vector"})
        client.delete("/v1/graphs/g/documents/d5")
        with client.stream("GET", "/v1/graphs/g/changes", params={"after": first}) as changes:
            assert next(line for line in changes.iter_lines() if line.startswith("data:"))


@pytest.fixture
async def watched(tools: Programs, tmp_path: Path) -> AsyncIterator[Watched]:
    """Yield the embedded service with a language model, a cluster's roles, and a Prometheus that scrapes them all."""
    settings = {
        "GRAPHTIDE_LLM_MODEL": "fake",
        "GRAPHTIDE_LLM_API_KEY": "k",
        "GRAPHTIDE_METRICS_PUBLIC": "true",
        "GRAPHTIDE_PRICES": json.dumps({"fake": {"prompt": 1.0, "completion": 2.0}}),
        "GRAPHTIDE_BUDGETS": json.dumps({"poor": {"tokens": 1}}),
    }
    with (
        LlmServer(says=unreadable) as llm,
        Collector() as collector,
        service(tmp_path / "data", settings | endpoints_of(llm, collector)) as one,
    ):
        async with watched_roles(tmp_path) as roles:
            targets = [("serve", httpx.URL(one.url).netloc.decode()), *roles.targets]
            with running(tmp_path, targets, RULES) as prometheus:
                llm.misbehave(*[status(503)] * 3, FAULTS["unborne"])
                for number in range(4):
                    load(one.url, number)
                    document = DocumentMessage("g", f"d{number}", f"Lena Abara {number} leads Kittiwake Station.")
                    receipt = await roles.replica.publish([document])
                    await roles.replica.query("g", QueryRequest("Who leads Kittiwake?", after=receipt.token))
                    seen = prometheus.query("sum(count_over_time(up[10m]))")
                    before = float(seen[0]["value"][1]) if seen else 0.0
                    prometheus.wait_for(f"sum(count_over_time(up[10m])) >= {before + 2 * len(targets)}")
                yield Watched(prometheus, [at for _, at in targets])
