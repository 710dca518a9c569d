"""kill -9 at every named point of the stages, then a restart: the invariants, and the digest of a clean build."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support import law
from tests.support.crashing import Body, Crashing, crashing
from tests.support.extractions import NAMES, PREDICATES

WHILE_DOCUMENTS_COME = (
    ("accepted", 3),
    ("attempt-counted", 4),
    ("before-model", 2),
    ("after-model", 5),
    ("extraction-appended", 3),
    ("before-position", 2),
    ("before-transaction", 3),
    ("in-transaction", 3),
    ("committed-not-followed", 2),
    ("followed", 3),
)
ON_THE_WAY_OUT = ("before-index-published", "before-index-manifest")


def bodies(seed: int, count: int) -> dict[str, Body]:
    """Return documents about few names; half carry their facts."""
    rng = random.Random(seed)
    made: dict[str, Body] = {}
    for number in range(count):
        a, b = rng.sample(NAMES, 2)
        predicate = rng.choice(PREDICATES)
        made[f"d{number}"] = {"text": f"{a} {predicate} {b}."}
        if rng.random() < 0.5:
            made[f"d{number}"]["facts"] = [{"subject": a, "predicate": predicate, "object": b}]
    return made


def publish(one: Crashing) -> None:
    """Publish eight documents, of which two are edited and one is deleted."""
    for doc_id, body in bodies(1, 8).items():
        one.put(doc_id, body)
    for doc_id in ("d1", "d2"):
        one.put(doc_id, bodies(2, 8)[doc_id])
    one.delete("d3")


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the digest that every course of `publish` must end with."""
    live = bodies(1, 8) | {doc_id: bodies(2, 8)[doc_id] for doc_id in ("d1", "d2")}
    del live["d3"]
    return law.build(live, tmp_path_factory.mktemp("clean"))


@pytest.mark.thorough
@pytest.mark.parametrize(("point", "passage"), WHILE_DOCUMENTS_COME)
def test_service_loses_and_repeats_nothing_when_killed_at_a_point(
    point: str, passage: int, tmp_path: Path, clean: str
) -> None:
    """The service is killed at the point and restarted without it: one digest, nothing to verify."""
    with crashing(tmp_path, graph=law.GRAPH) as one:
        one.start(f"{point}:{passage}")
        publish(one)
        one.settle()
        assert one.deaths == 1, "the point was never passed"
        one.check(clean)


@pytest.mark.thorough
@pytest.mark.parametrize("point", ON_THE_WAY_OUT)
def test_indexes_are_complete_when_the_service_was_killed_while_saving_them(
    point: str, tmp_path: Path, clean: str
) -> None:
    """SIGTERM saves the indexes, kill -9 interrupts it: the next start completes them from the store."""
    with crashing(tmp_path, graph=law.GRAPH) as one:
        one.start(f"{point}:2")
        publish(one)
        one.settle()
        assert one.stop() == -9
        one.settle()
        one.check(clean)


def test_service_dies_at_one_point_after_the_other_and_ends_with_the_same_graph(tmp_path: Path, clean: str) -> None:
    """Four deaths in one course, each at another point, most of them during the recovery from the last."""
    with crashing(tmp_path, graph=law.GRAPH) as one:
        one.start("extraction-appended:2", "in-transaction", "committed-not-followed", "before-position")
        publish(one)
        one.settle()
        assert one.deaths == 4, "not every point was passed"
        one.check(clean)
