"""The compiled blocking index compared with dictionaries, on random changes."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from graphtide.graph.resolution import blocking
from graphtide.graph.resolution.blocking import EQUAL, FULL, SHORT, Blocks, Keys, roles_compatible

ROLES = (SHORT, FULL, EQUAL)


class Model:
    """Labels with their keys, searched as a whole at each call."""

    def __init__(self) -> None:
        self.keys: dict[int, tuple[Keys, Keys]] = {}

    def all_keys(self, label: int) -> Keys:
        words, vector = self.keys[label]
        return {**words, **vector}

    def block(self, key: str) -> dict[int, int]:
        return {label: keys[key] for label in self.keys if key in (keys := self.all_keys(label))}

    def are_candidates(self, a: int, b: int) -> bool:
        mine, other = self.all_keys(a), self.all_keys(b)
        return any(
            roles_compatible(mine[key], other[key]) and len(self.block(key)) <= blocking.MAX_BLOCK
            for key in mine.keys() & other.keys()
        )


def keys_of(draw: random.Random, kind: str, names: int) -> Keys:
    """Return few or many keys: some blocks stay small and some become large."""
    picked = {min(draw.randrange(names), draw.randrange(names)) for _ in range(draw.randrange(6))}
    return {f"{kind}{name} é\ud800": draw.choice(ROLES) for name in picked}


LARGEST = (1 << 29) - 1


@pytest.mark.parametrize("first", [0, LARGEST - 200])
@pytest.mark.parametrize(("max_block", "labels", "names"), [(1, 12, 5), (3, 30, 8), (3, 60, 90), (24, 140, 4)])
def test_index_equals_dictionaries(
    max_block: int, labels: int, names: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Candidates, members, pairs and the blocks that close or open, through insertions, changes and removals.

    The largest labels leave two bits of a slot for its key: many keys of a label are then told apart by its entries.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    monkeypatch.setattr(blocking, "MAX_BLOCK", max_block)
    blocks, model = Blocks(), Model()
    for _ in range(250):
        label = first + draw.randrange(labels)
        before = {key: len(model.block(key)) for key in names_of(model)}
        known = dict(model.keys)
        if label in model.keys and draw.random() < 0.3:
            crossed = blocks.remove(label)
            del model.keys[label]
        else:
            words = None if label in model.keys and draw.random() < 0.3 else keys_of(draw, "W", names)
            vector = keys_of(draw, "L", names)
            crossed = blocks.put(label, words, vector)
            model.keys[label] = (known[label][0] if words is None else words, vector)
        crossing = {
            key for key in names_of(model) | before.keys() if over(before.get(key, 0)) != over(len(model.block(key)))
        }
        assert {frozenset(blocks.members(key)) for key in crossed} >= {frozenset(model.block(key)) for key in crossing}
        assert len(crossing) <= len(crossed)
    for a, b in combinations(sorted(model.keys), 2):
        assert blocks.are_candidates(a, b) == model.are_candidates(a, b) == (b in blocks.candidates(a))


def test_arrays_of_many_sizes_are_reused_and_moved_together() -> None:
    """Labels with other numbers of keys at each turn keep their own keys, and the pool stays as small as they are."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    blocks, sizes = Blocks(), dict[int, int]()
    for turn in range(12):
        for label in range(300):
            if draw.random() < 0.2 and label in sizes:
                blocks.remove(label)
                del sizes[label]
            else:
                sizes[label] = draw.randrange(40)
                blocks.put(label, {f"W{label // 2} {n}": EQUAL for n in range(sizes[label])}, {})
        assert len(blocks._kernel) == len(sizes)
        for label in sizes:
            other = label ^ 1
            paired = other in sizes and sizes[label] and sizes[other]
            assert blocks.candidates(label) == ({other} if paired else set())
        entries = sum(sizes.values())
        assert blocks.memory_bytes() < 8 * 1.4 * entries + 4 * 1.5 * entries + 40 * entries + 30_000, turn


def test_more_keys_than_a_label_may_have_are_refused() -> None:
    """Nothing is changed then; as many as it may have are accepted."""
    blocks = Blocks()
    with pytest.raises(ValueError, match="65534"):
        blocks.put(1, {f"W{n}": EQUAL for n in range(65_535)}, {})
    with pytest.raises(KeyError):
        blocks.remove(1)
    blocks.put(1, {f"W{n}": EQUAL for n in range(65_534)}, {})
    blocks.put(2, {"W65533": EQUAL}, {})
    assert blocks.candidates(2) == {1}


def names_of(model: Model) -> set[str]:
    return {key for label in model.keys for key in model.all_keys(label)}


def over(size: int) -> bool:
    return size > blocking.MAX_BLOCK


def test_pairs_of_a_block_that_opens_are_proposed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A block that grows beyond the bound proposes nothing, and all its pairs when it is small again."""
    monkeypatch.setattr(blocking, "MAX_BLOCK", 2)
    blocks = Blocks()
    assert [blocks.put(label, {"D": EQUAL}, {}) for label in (1, 2)] == [[], []]
    (key,) = blocks.put(3, {"D": SHORT}, {})
    assert (blocks.pairs(key), blocks.candidates(1), blocks.members(key)) == ([], set(), {1, 2, 3})
    assert blocks.remove(2) == [key]
    assert (blocks.pairs(key), blocks.candidates(1)) == ([(1, 3)], {3})


def test_unknown_labels_and_roles_are_refused() -> None:
    """Nothing is changed then."""
    blocks = Blocks()
    with pytest.raises(KeyError):
        blocks.remove(1)
    with pytest.raises(KeyError):
        blocks.put(1, None, {})
    for role in (0, 4, 1 << 40):
        with pytest.raises(ValueError, match="role"):
            blocks.put(1, {"W": role}, {})
    blocks.put(1, {}, {})
    assert blocks.remove(1) == []


def test_memory_is_returned_when_labels_go() -> None:
    """The index is as large as its live labels, not as it ever was."""
    blocks = Blocks()
    for label in range(5000):
        blocks.put(label, {f"W{label}": EQUAL, f"D{label // 100}": EQUAL}, {})
    full = blocks.memory_bytes()
    for label in range(4950):
        blocks.remove(label)
    assert blocks.memory_bytes() < full / 4


def test_many_labels_take_few_bytes_and_are_found_after_others_are_removed() -> None:
    """The table grows and shrinks with its keys; a label that does not fit a slot is refused, with nothing changed."""
    blocks = Blocks()
    for label in range(6_000):
        blocks.put(label, {f"W{label}": EQUAL, f"D{label // 2}": SHORT if label % 2 else FULL}, {f"L{label}": EQUAL})
    assert blocks.memory_bytes() < 6_000 * 75
    for label in range(0, 6_000, 4):
        blocks.remove(label)
    for label in range(1, 6_000):
        if label % 4:
            assert blocks.candidates(label) == (set() if label % 4 == 1 else {label ^ 1})
    full = blocks.memory_bytes()
    for label in range(6_000):
        if label % 4:
            blocks.remove(label)
    assert blocks.memory_bytes() < full // 3
    for label in (-1, 1 << 29):
        with pytest.raises(ValueError, match="2\\^29"):
            blocks.put(label, {"W": EQUAL}, {})
    assert blocks.members(0) == set() and len(blocks._kernel) == 0
