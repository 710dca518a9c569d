"""Matching of community ids to communities: after the moves of one level, an id stays with the community that holds
most of its nodes.

Units move one by one, so a big community may drain into a small one; without this matching the small one's id would
survive. Only the id moves to another slot: members and weights stay where they are.
"""

from collections import Counter

from graphtide.graph.communities.levels import NEW, Levels


def settle_names(state: Levels, h: int, first_new: int) -> None:
    """Give the ids of partition ``h`` to the communities that inherited most of their level-0 nodes.

    Ids from ``first_new`` on were allocated during this update and are not published yet, so they never compete. Cost:
    the moved units, and the members of a community whose id changes.
    """
    level, above = state.levels[h], state.levels[h + 1]
    shared: Counter[tuple[int, int]] = Counter()  # (id before, slot now) -> level-0 nodes that made this move
    stayed: dict[int, int] = {}  # slot -> level-0 nodes present before the update, for slots that received units
    for key, before in state.journal[h].items():
        unit = key if h == 0 else state.slots.get(key, (h, -1))[1]
        if unit < 0 or (slot := level.community[unit]) < 0 or before == above.ident[slot]:
            continue
        stayed[slot] = stayed.get(slot, above.size[slot]) - level.size[unit]
        if 0 < before < first_new:
            shared[before, slot] += level.size[unit]
    holders = {ident: state.slots[ident][1] for ident, _ in shared if ident in state.slots}
    own = {
        slot: stayed.get(slot, above.size[slot]) if above.ident[slot] < first_new else 0
        for slot in stayed.keys() | holders.values()
    }
    if any(n > own[slot] and n > own.get(holders.get(ident, -1), 0) for (ident, slot), n in shared.items()):
        claims = [(n, ident, slot) for (ident, slot), n in shared.items()]
        claims += [(n, above.ident[slot], slot) for slot, n in own.items() if above.ident[slot] < first_new]
        claims.sort(key=lambda claim: (-claim[0], claim[1], above.ident[claim[2]]))
        rename(state, h, assign(claims), own)


def assign(claims: list[tuple[int, int, int]]) -> dict[int, int]:
    """Match ids to slots greedily, the largest overlap first; return slot -> id."""
    names: dict[int, int] = {}
    taken: set[int] = set()
    for _, ident, slot in claims:
        if ident not in taken and slot not in names:
            names[slot] = ident
            taken.add(ident)
    return names


def rename(state: Levels, h: int, names: dict[int, int], involved: dict[int, int]) -> None:
    """Apply the new ids; a community left without one gets a fresh id. Its members are journalled first."""
    above = state.levels[h + 1]
    taken = set(names.values())
    for slot in sorted(involved, key=lambda c: above.ident[c]):
        if slot not in names:
            names[slot] = state.next_id if above.ident[slot] in taken else above.ident[slot]
            state.next_id += names[slot] == state.next_id
    changed = [slot for slot in names if above.ident[slot] != names[slot]]
    for slot in changed:
        for unit in above.members[slot]:
            state.record(h, unit)
        state.record(h + 1, slot)
    for slot in changed:
        del state.slots[above.ident[slot]]
    for slot in changed:
        above.ident[slot] = names[slot]
        state.slots[names[slot]] = (h + 1, slot)
        state.journal[h + 1].setdefault(names[slot], NEW)
