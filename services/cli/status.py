"""Explanations of `graphtide status`: the role, state and remedy of each component.

Unlike the doctor, it uses only the service's own report. The invariant: components unknown here are shown too.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.services.component_state import WELL, ComponentState
from graphtide.services.doctor.running import REMEDIES

_ROLES = {
    "extract": "extracts entities and relations from documents",
    "consolidate": "writes the graphs",
    "summarize": "writes the reports of communities",
    "follow": "keeps the views at the newest version",
    "communities-check": "recomputes communities after drift",
    "index-snapshots": "saves the vector indexes for a fast start",
    "pair-judge": "lets a model judge pairs of names that the rules leave undecided",
    "lag": "measures the lag",
    "standing-questions": "loads the standing questions",
    "standing-registrations": "follows changes of the list of standing questions",
    "standing-answers": "writes the answers of standing questions",
    "standing-progress": "stores how far standing questions are evaluated",
    "standing-topic": "publishes the events of standing questions",
    "graph-changes": "publishes the changes of graphs in the topic graph-changes",
    "purge": "deletes purged content every day at purge_at",
    "deletion": "the running deletion, verification or rebuild of a graph",
    "re-embedding": "computes the vectors of all texts with another model",
    "kafka": "the log of documents and of their processing",
    "graph database": "stores the graphs",
    "views": "the graphs that answer queries",
    "query": "the query replicas of this gateway",
    "storage": "the database file of log and graphs",
    "disk": "free space of the data folder",
    "embedding endpoint": "computes the vectors of texts",
    "language endpoint": "extracts, writes reports and answers",
    "newer keys": "the current version of the file of API keys",
    "newer tokens": "the current version of the key file for tokens",
    "newer certificate": "the current version of the TLS files",
    "start": "loads the graphs",
    "worker": "this process as a whole",
    "service": "this process as a whole",
}
_ROLES_OF_EACH = {
    "partition": "writes the graphs of this partition",
    "graph": "a graph whose stored rows are damaged",
    "source": "reads the topic of a source",
}
"""The role of components whose names begin with their kind."""
RENAMED = {"component": "part", "role": "does", "state": "says", "action": "do"}
"""The old name of each field of a row."""
_WAITS = "nothing: it continues automatically; the process's log has details"


def explained(components: Mapping[str, ComponentState]) -> list[dict[str, str]]:
    """Return a row per component, unhealthy ones first: its name, role, state, and action (empty for healthy ones).

    The old names `part`, `does`, `says` and `do` are kept beside them until the next release.
    """
    rows = [
        {
            "component": name,
            "role": _role(name),
            "state": state.text,
            "action": "" if state.is_healthy else REMEDIES.get(name, _WAITS),
        }
        for name, state in components.items()
    ]
    rows = [row | {old: row[new] for new, old in RENAMED.items()} for row in rows]
    return sorted(rows, key=lambda row: not row["action"])


def _role(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return _ROLES.get(name) or (_ROLES_OF_EACH.get(kind, "") if rest else "")


def outlook(ready: bool, components: Mapping[str, ComponentState]) -> str:
    """Return the state of the process in one sentence."""
    ill = [name for name, state in components.items() if not state.is_healthy]
    if ready:
        return "ready" if not ill else f"ready, but without: {', '.join(ill)}"
    return f"not ready, because of: {', '.join(ill)}" if ill else f"not ready, although every component is {WELL}"
