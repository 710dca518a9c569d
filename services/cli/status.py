"""`graphtide status` in plain words: what each part does, how it is, and what to do where it is not well.

Not the doctor, which looks with the service's settings: here is only what the service says of itself. Invariant: a part
that is not known here is shown all the same.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphtide.services.doctor.running import REMEDIES, WELL_SAID
from graphtide.services.health import WELL

_DOES = {
    "extract": "reads documents, and takes entities and relations out of them",
    "consolidate": "writes the graphs",
    "summarize": "writes the reports of communities",
    "follow": "keeps what is shown here at the newest version",
    "communities-check": "finds communities anew once they have drifted",
    "index-snapshots": "saves the vector indexes, for a quick start",
    "pair-judge": "has a model judge pairs of names that rules leave open",
    "lag": "counts what waits",
    "kafka": "the log of documents, and of what became of them",
    "graph database": "where the graphs are kept",
    "views": "the graphs as they are shown here",
    "query": "the replicas that answer for this gateway",
    "storage": "the file of log and graphs",
    "disk": "room in the data folder",
    "embedding endpoint": "turns texts into vectors",
    "language endpoint": "extracts, reports and answers",
    "newer keys": "the file of API keys, as it is now",
    "newer tokens": "the key that tokens are checked with, as it is now",
    "newer certificate": "the TLS files, as they are now",
    "start": "opens what there is to answer from",
    "worker": "this process as a whole",
    "service": "this process as a whole",
}
_WAITS = "nothing: it goes on by itself; the process's log says more"


def explained(parts: Mapping[str, str]) -> list[dict[str, str]]:
    """A row a part, those that are not well first: `part`, `does`, `says`, and `do`, empty where all is well."""
    rows = [
        {"part": name, "does": _does(name), "says": said, "do": "" if said in WELL_SAID else REMEDIES.get(name, _WAITS)}
        for name, said in parts.items()
    ]
    return sorted(rows, key=lambda row: not row["do"])


def _does(name: str) -> str:
    return _DOES.get(name) or ("writes the graphs of this partition" if name.startswith("partition ") else "")


def outlook(ready: bool, parts: Mapping[str, str]) -> str:
    """The whole in one sentence."""
    ill = [name for name, said in parts.items() if said not in WELL_SAID]
    if ready:
        return "ready" if not ill else f"ready, and does without: {', '.join(ill)}"
    return f"not ready, because of: {', '.join(ill)}" if ill else f"not ready, though every part says {WELL}"
