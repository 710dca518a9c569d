"""Items of a sentence as its clauses use them: without asides, and with a name and its adjacent noun joined.

One pass, each item visited once; the clauses interpret the result.
"""

from dataclasses import replace

from graphtide.infra.models.local.english.lexical.words import ROLES
from graphtide.infra.models.local.english.mentions import Item

_COMPANIES = frozenset({"crew", "team", "staff", "family", "group", "members", "board", "crews", "passengers"})


def clause_items(items: list[Item]) -> list[Item]:
    """Return the items outside brackets, joined: an aside must not separate a subject and its verb."""
    kept: list[Item] = []
    depth = 0
    for item in items:
        if item.kind == "open":
            depth += 1
        elif item.kind == "close":
            depth = max(0, depth - 1)
        elif depth == 0:
            _keep(kept, item)
    return kept


def _keep(kept: list[Item], item: Item) -> None:
    """Add an item, and join a name and the common noun beside it.

    "Kestrel telescope" stays the name; "Halden Station director" and "Ruud's survey" become a term with an owner; "the
    glaciologist Ida Moreau" becomes the name, with its role.
    """
    before = kept[-1] if kept else None
    if before is not None and before.kind == "name" and item.kind == "term" and item.owner == before.text:
        if item.compound and item.head not in ROLES and item.head not in _COMPANIES:
            return
        kept.pop()
    elif before is not None and before.kind == "term" and item.kind == "name" and item.start - before.end == 1:
        kept.pop()
        if " of " in before.text:  # "the crew of the trawler Sandpiper"
            text = before.text.partition(" of ")[0]
            kept.append(replace(before, text=text, head=text.rpartition(" ")[2].lower(), owner=item.text, end=item.end))
            return
        item.role = before if before.head in ROLES or " " in before.text or before.article else None
    kept.append(item)
