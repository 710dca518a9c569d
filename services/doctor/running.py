"""The doctor's checks of a running service over HTTP: its components, graphs and clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from graphtide.services.cli.client import Client, graph_path
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.component_state import ComponentState, parse_state
from graphtide.services.doctor import DoctorFinding

_BUDGET = "wait until tomorrow (UTC), or raise the budget (GRAPHTIDE_BUDGET_TOKENS_PER_DAY, _COST_PER_DAY)"
_FILE = "correct the file that the message names; the previous version stays in use"
REMEDIES = {
    "kafka": "start the brokers, or run graphtide doctor with the service's settings",
    "graph database": "start the database, or run graphtide doctor with the service's settings",
    "query": "start the query replicas, or check GRAPHTIDE_QUERY_TARGET and GRAPHTIDE_QUERY_CA_FILE",
    "views": "check that the consolidators, Kafka and the graph database run; the views then catch up automatically",
    "worker": "wait: the process is starting; its log names what it waits for",
    "storage": "check the service's log; if the file is damaged, restore a backup (docs/operating.md)",
    "disk": "free space on the data folder's disk",
    "embedding endpoint": "run graphtide doctor on the service's machine with its settings, which calls the endpoint",
    "language endpoint": "run graphtide doctor on the service's machine with its settings, which calls the endpoint",
    "newer keys": _FILE,
    "newer tokens": _FILE,
    "newer certificate": _FILE,
    "start": "nothing: the process is starting and reports its progress; check again",
    "service": "nothing: this process is shutting down; wait for its successor",
}


def running_findings(client: Client, leeway_s: float) -> Iterator[DoctorFinding]:
    """Yield the findings in the service's own report. Raises CommandError when no service answers."""
    answer = client.probe()
    body, ready = answer.body, bool(answer.body.get("ready"))
    for name, state in components_of(body).items():
        if not state.is_healthy:
            yield _component_finding(name, state.text, ready)
    yield from _clock(answer.date, leeway_s)
    try:
        for each in client.get("/v1/graphs")["graphs"]:
            yield from graph_findings(client.get(f"{graph_path(each['graph'])}/stats"))
    except CommandError as error:
        why = "the graphs cannot be checked"
        yield DoctorFinding(
            "service", str(error), why, "set GRAPHTIDE_API_KEY to a key with the action read on them", serious=False
        )


def components_of(body: Mapping[str, Any]) -> Mapping[str, ComponentState]:
    """Return the components of a body of /readyz; a service of the previous release calls them parts."""
    components = body.get("components") or body.get("parts") or {}
    return {str(name): parse_state(str(text)) for name, text in components.items()}


def _component_finding(name: str, state: str, ready: bool) -> DoctorFinding:
    why = "documents wait" if ready else "the service is not ready and receives no requests"
    if "budget" in state:
        return DoctorFinding(name, state, "documents wait until the budget allows them", _BUDGET)
    return DoctorFinding(name, state, why, REMEDIES.get(name, "check the service's log for the cause"))


def _clock(date: str, leeway_s: float) -> Iterator[DoctorFinding]:
    try:
        skew_s = abs((parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return
    if skew_s > leeway_s + 1:  # the header has whole seconds only
        what = f"the clocks of the service and of this machine differ by {skew_s:.0f} s"
        why = f"beyond {leeway_s:g} s, tokens are refused as expired or not valid yet"
        yield DoctorFinding("clock", what, why, "run a time service on both machines, such as chrony: chronyc tracking")


def graph_findings(stats: Mapping[str, Any]) -> Iterator[DoctorFinding]:
    """Yield the findings in a graph's statistics. Pure."""
    graph, counts, indexes = stats["graph"], stats["counts"], stats["indexes"]
    failed = stats["revisions"].get("failed", 0)
    if failed:
        what, why = (
            f"{failed} revisions of graph {graph} failed",
            "the newest revisions of their documents are not in the graph",
        )
        yield DoctorFinding("dead letters", what, why, f"graphtide dlq list --graph {graph}", serious=False)
    paused = stats.get("spending", {}).get("budget", {}).get("paused")
    if paused:
        why = "its documents wait until the budget allows them; nothing is lost"
        yield DoctorFinding("budget", f"graph {graph}: {paused}", why, _BUDGET)
    for name in ("chunks", "entities", "relations"):
        live = indexes.get(name, {}).get("live")
        if not stats["lag"] and live is not None and name in counts and live != counts[name]:
            what = f"the {name} index of graph {graph} contains {live} of {counts[name]} rows"
            why = "searches do not find the missing rows"
            yield DoctorFinding("indexes", what, why, f"graphtide rebuild --graph {graph}")
