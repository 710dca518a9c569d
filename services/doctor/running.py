"""A service that answers: its parts, its graphs, its clock. Asked over HTTP with the caller's own credential."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from graphtide.services.cli.client import Client, graph_path
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.doctor import DoctorFinding

WELL_SAID = frozenset({"running", "well", "open"})
_BUDGET = "wait until tomorrow (UTC), or raise the budget (GRAPHTIDE_BUDGET_TOKENS_PER_DAY, _COST_PER_DAY)"
_FILE = "correct the file that it names; what was read before is in force"
REMEDIES = {
    "kafka": "start the brokers, or see graphtide doctor with the service's settings",
    "graph database": "start the database, or see graphtide doctor with the service's settings",
    "query": "start the query replicas, or check GRAPHTIDE_QUERY and GRAPHTIDE_QUERY_CA_FILE",
    "views": "see that the consolidators run, and that kafka and the graph database are well; it catches up by itself",
    "worker": "wait: it is starting; its log says what it is waiting for",
    "storage": "see the service's log; if the file is damaged, restore a backup (docs/operating.md)",
    "disk": "make room on the data folder's disk",
    "embedding endpoint": "graphtide doctor on the service's machine, with its settings, asks the endpoint",
    "language endpoint": "graphtide doctor on the service's machine, with its settings, asks the endpoint",
    "newer keys": _FILE,
    "newer tokens": _FILE,
    "newer certificate": _FILE,
    "start": "nothing: it is starting, and says how far it is; ask again",
    "service": "wait for the next one: this one is about to end",
}


def running_findings(client: Client, leeway_s: float) -> Iterator[DoctorFinding]:
    """What the service says of itself. Raises CommandError when none answers."""
    answer = client.probe()
    body, ready = answer.body, bool(answer.body.get("ready"))
    for name, said in dict(body.get("parts") or {}).items():
        if said not in WELL_SAID:
            yield _part(str(name), str(said), ready)
    yield from _clock(answer.date, leeway_s)
    try:
        for each in client.get("/v1/graphs")["graphs"]:
            yield from graph_findings(client.get(f"{graph_path(each['graph'])}/stats"))
    except CommandError as error:
        why = "the graphs cannot be looked at"
        yield DoctorFinding(
            "service", str(error), why, "give a key with read on them in GRAPHTIDE_API_KEY", serious=False
        )


def _part(name: str, said: str, ready: bool) -> DoctorFinding:
    why = "documents wait" if ready else "the service is not ready: nothing is sent to it"
    if "budget" in said:
        return DoctorFinding(name, said, "documents wait until there is a budget again", _BUDGET)
    return DoctorFinding(name, said, why, REMEDIES.get(name, "see the service's log for what goes before"))


def _clock(date: str, leeway_s: float) -> Iterator[DoctorFinding]:
    try:
        skew_s = abs((parsedate_to_datetime(date) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return
    if skew_s > leeway_s + 1:  # the header knows whole seconds
        what = f"its clock and this one differ by {skew_s:.0f} s"
        why = f"tokens are refused as expired or not valid yet beyond {leeway_s:g} s"
        yield DoctorFinding("clock", what, why, "run a time service on both machines, such as chrony: chronyc tracking")


def graph_findings(stats: Mapping[str, Any]) -> Iterator[DoctorFinding]:
    """What a graph's statistics say. Pure."""
    graph, counts, indexes = stats["graph"], stats["counts"], stats["indexes"]
    failed = stats["revisions"].get("failed", 0)
    if failed:
        what, why = (
            f"{failed} revisions of graph {graph} failed",
            "their documents are not in the graph as they are now",
        )
        yield DoctorFinding("dead letters", what, why, f"graphtide dlq list --graph {graph}", serious=False)
    paused = stats.get("spending", {}).get("budget", {}).get("paused")
    if paused:
        why = "its documents wait until there is a budget again, and lose nothing"
        yield DoctorFinding("budget", f"graph {graph}: {paused}", why, _BUDGET)
    for name in ("chunks", "entities", "relations"):
        live = indexes.get(name, {}).get("live")
        if not stats["lag"] and live is not None and name in counts and live != counts[name]:
            what = f"the {name} index of graph {graph} holds {live} of {counts[name]}"
            why = "what is not in it is not found"
            yield DoctorFinding("indexes", what, why, f"graphtide rebuild --graph {graph}")
