"""A delta survives its encoding to the last bit, and a follower of decoded deltas holds the writer's graph."""

from __future__ import annotations

import json
import random
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from graphtide.graph.communities import Hierarchy
from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest
from graphtide.graph.records import ChunkRow, DocumentInfo, Extraction, GraphDelta
from graphtide.graph.vector_sum import SumEncoding, bytes_of
from graphtide.streams.errors import Rejected
from graphtide.streams.follow.delta_codec import SCHEMA, decode, encode
from tests.support.extractions import random_extraction, unit
from tests.support.worlds import RandomWorld, empty_view, snapshot_of


def comparable(value: object) -> Any:
    """Return the value with its types, arrays as type, shape and bytes: equal only if nothing differs."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.shape, value.tobytes())
    if is_dataclass(value):
        return (type(value), [comparable(getattr(value, field.name)) for field in fields(value)])
    if isinstance(value, tuple):
        return ("tuple", [comparable(one) for one in value])
    if isinstance(value, SumEncoding):
        return (bytes, bytes(value))
    return (type(value), value)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(8))
def test_delta_decodes_to_itself_after_every_step_of_a_random_walk(seed: int) -> None:
    """Removals, rows, vectors, sums and communities come back as they were, types included."""
    print(f"seed {seed}")
    world = RandomWorld(random.Random(seed))
    gone = False
    for _ in range(30):
        delta = world.step()
        assert comparable(decode(encode(delta))) == comparable(delta)
        gone = gone or bool(delta.gone.edges and delta.gone.same_as and delta.gone.chunks)
    assert gone
    snapshot = snapshot_of(world.live)
    assert isinstance(snapshot.communities, Hierarchy)
    assert comparable(decode(encode(snapshot))) == comparable(snapshot)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_follower_of_decoded_deltas_holds_the_writers_graph_after_every_step(seed: int) -> None:
    """Digest, hierarchy and index contents are the writer's, and a view filled later by a snapshot has the same."""
    print(f"seed {seed}")
    world, follower, beside = RandomWorld(random.Random(seed)), empty_view(), empty_view()
    for _ in range(30):
        delta = world.step()
        beside.apply(delta)
        follower.apply(decode(encode(delta, sums=False)))
        expected = snapshot_of(world.live)
        assert digest(follower.rows()) == digest(expected)
        followed, kept = follower.hierarchy.hierarchy(), world.writer.hierarchy()
        for part in ("nodes", "communities", "ids", "levels", "parents"):
            assert np.array_equal(getattr(followed, part), getattr(kept, part)), part
        for index in ("chunks", "entities", "statements"):
            one, other = getattr(follower.indexes, index), getattr(beside.indexes, index)
            assert np.array_equal(one.live_ids(), other.live_ids())
            assert np.array_equal(one.vectors(one.live_ids()), other.vectors(other.live_ids()))
    late = empty_view()
    late.apply(decode(encode(snapshot_of(world.live))))
    assert digest(late.rows()) == digest(follower.rows())


def test_writer_restored_from_a_decoded_snapshot_goes_on_alike() -> None:
    """The sums travel: after a restart from decoded rows the next documents give the same graph."""
    rng = random.Random(2)
    world, view = RandomWorld(rng), empty_view()
    for _ in range(10):
        view.apply(world.step())
    snapshot = replace(snapshot_of(world.live), version=view.version)
    world.writer = Consolidator.restore(decode(encode(snapshot)))
    view = empty_view()
    view.apply(snapshot)
    for _ in range(10):
        view.apply(world.step())
    assert digest(view.rows()) == digest(snapshot_of(world.live))


def test_rows_without_vectors_stay_without_when_others_have_one() -> None:
    """A blank between two vectors comes back as a blank in its place."""
    vector = np.array([1.5, -2.0], np.float16)
    nothing = np.empty(0, np.float16)
    rows = tuple(ChunkRow(n, f"c{n}", "d", n, "", v, 1) for n, v in enumerate((nothing, vector, nothing, -vector)))
    for chosen in (rows, rows[:1], rows[1:2], ()):
        delta = GraphDelta("g", 1, chunks=chosen)
        assert comparable(decode(encode(delta))) == comparable(delta)


def test_delta_of_a_version_without_headings_is_read() -> None:
    """A replica that is newer than the writer reads its chunks, with empty headings."""
    rows = tuple(ChunkRow(n, f"c{n}", "d", n, "", np.empty(0, np.float16), 1, f"Title {n}", "") for n in range(2))
    body = json.loads(encode(GraphDelta("g", 1, chunks=rows)))
    assert body.pop("headings")
    older = decode(json.dumps(body).encode())
    assert comparable(older) == comparable(GraphDelta("g", 1, chunks=tuple(replace(row, title="") for row in rows)))


def test_text_of_any_script_and_metadata_survive() -> None:
    """Names, predicates and metadata are not bound to ASCII, and quotes and line ends do no harm."""
    odd = 'Ж "ß"\n\u2028 𝄞 \x00'
    passage = unit(odd, [(odd, "type", odd), ("Öl", "", "")], [(0, odd, 1)])
    info = DocumentInfo(odd, odd, "2026-11-21", (("key", json.dumps([odd, 1.5, None])),))
    delta = RandomWorld(random.Random(0)).change(Extraction(odd, 1, info, (passage,)))
    assert comparable(decode(encode(delta))) == comparable(delta)


def test_delta_without_sums_is_the_same_but_for_them() -> None:
    """All rows that a view needs are included."""
    rng = random.Random(1)
    delta = RandomWorld(rng).change(random_extraction(rng, "d", 1))
    bare = decode(encode(delta, sums=False))
    assert not any(row.vector_sum for row in bare.labels) and not any(row.vector_sum for row in bare.statements)
    labels = tuple(replace(row, vector_sum=b"") for row in delta.labels)
    statements = tuple(replace(row, vector_sum=b"") for row in delta.statements)
    assert comparable(bare) == comparable(replace(delta, labels=labels, statements=statements))


def test_encoding_refuses_vectors_of_different_lengths() -> None:
    """Vectors of one table have one length; nothing is cut or padded in silence."""
    rows = tuple(ChunkRow(n, f"c{n}", "d", n, "", np.ones(2 + n, np.float16), 1) for n in range(2))
    with pytest.raises(ValueError, match=r"lengths \[2, 3\]"):
        encode(GraphDelta("g", 1, chunks=rows))


def damaged(change: dict[str, Any]) -> bytes:
    rng = random.Random(1)
    body = json.loads(encode(RandomWorld(rng).change(random_extraction(rng, "d", 1))))
    return json.dumps(body | change).encode()


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b'{"graph": "g"}',
        b'{"schema": 1}',
        damaged({"schema": SCHEMA + 1}),
        damaged({"version": "newest"}),
        damaged({"chunks": [[1, 2]]}),
        damaged({"labels": []}),
        damaged({"gone": []}),
        damaged({"chunk_vectors": [16, [], ""]}),
        damaged({"chunk_vectors": [16, [99], ""]}),
        damaged({"entity_vectors": [16, [], "???"]}),
        damaged({"label_sums": [[5], "AAAA"]}),
        damaged({"communities": {"nodes": "AAAA"}}),
    ],
)
def test_decoding_rejects_what_is_no_delta_of_this_schema(value: bytes) -> None:
    """An unknown schema, or an inconsistent body, is Rejected and never applied in part."""
    with pytest.raises(Rejected, match="delta"):
        decode(value)


def test_decoding_rejects_a_hierarchy_whose_arrays_do_not_go_together() -> None:
    """Children without their parents would leave a follower with another tree."""
    rng = random.Random(1)
    body = json.loads(encode(RandomWorld(rng).change(random_extraction(rng, "d", 1))))
    body["communities"]["parents"] = ""
    with pytest.raises(Rejected, match="differ in length"):
        decode(json.dumps(body).encode())


def test_a_row_keeps_no_memory_but_its_own() -> None:
    """A decoded vector is no part of a block, which all rows of the delta would hold; equal numbers are one int."""
    world = RandomWorld(random.Random(5))
    decoded = [decode(encode(world.step())) for _ in range(3)]
    vectors = [row.vector for delta in decoded for row in delta.chunks if row.vector.size]
    vectors += [row.vector for delta in decoded for row in delta.statements if row.vector.size]
    vectors += [row.vector for delta in decoded for row in delta.entities if row.vector.size]
    assert vectors and all(bytes_of(vector) is bytes_of(vector) and not vector.flags.writeable for vector in vectors)
    evidence = [row.chunk for delta in decoded for row in delta.evidence]
    assert len({id(chunk) for chunk in evidence}) == len(set(evidence))
