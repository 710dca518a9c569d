"""A seeded random walk of the whole service against a model that knows only which documents are live.

Publish, edit, delete, kill -9 from outside, death at a named point, SIGTERM, restart, question, rebuild, recount: in
any order. `python -m tests.recovery.walk --minutes 60 --seed 7` walks for long and prints the steps.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import canonical_lines, digest
from graphtide.graph.records import DocumentChange, Extraction
from graphtide.infra.models.local.chunker import SemanticChunker
from graphtide.infra.models.local.extractor import OfflineExtractor
from graphtide.infra.models.local.static_embedder import StaticEmbedder
from graphtide.streams.extract.pipeline import ExtractionLimits, ExtractionModels, extract
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact
from tests.model.graph_oracle import GraphOracle
from tests.support.crashing import Body, Crashing, crashing
from tests.support.extractions import NAMES, PREDICATES, TYPES

DOCUMENTS = 24
POINTS = (
    "accepted",
    "attempt-counted",
    "before-model",
    "after-model",
    "extraction-appended",
    "before-position",
    "before-transaction",
    "in-transaction",
    "committed-not-followed",
    "followed",
    "report-saved",
    "before-index-published",
    "before-index-manifest",
)


def random_body(rng: random.Random) -> Body:
    """Return a document about few names: plain, or with its own entities and facts; sometimes with strange text."""
    a, b, c = rng.sample(NAMES, 3)
    predicate = rng.choice(PREDICATES)
    text = f"{a} {predicate} {b}. {c} met {a} in {rng.randint(1800, 1850)}."
    if rng.random() < 0.1:
        text = "\u202e" + text + "\u200b\u05e9\u05dc\u05d5\u05dd e\u0301 " + "x" * rng.choice((10, 5_000))
    body: Body = {"text": text}
    if rng.random() < 0.5:
        body["facts"] = [{"subject": a, "predicate": predicate, "object": b, "weight": rng.choice((0.5, 1, 2))}]
        body["entities"] = [{"name": name, "type": rng.choice(TYPES)} for name in (a, b, c)]
    return body


def expected_digest(live: dict[str, Body]) -> str:
    """Return the digest of the live documents by the default models, without any stage or storage.

    The digest is that of a fresh build, whose rows must be the oracle's.
    """
    extractions = asyncio.run(_extracted(live))
    rows = Consolidator("g").apply([DocumentChange(each.doc_id, None, each) for each in extractions])
    assert sorted(canonical_lines(rows)) == sorted(GraphOracle(extractions).lines())
    return digest(rows)


async def _extracted(live: dict[str, Body]) -> list[Extraction]:
    models = ExtractionModels(SemanticChunker(), OfflineExtractor(), StaticEmbedder())
    return [await extract(_message(doc_id, body), 0, models, ExtractionLimits()) for doc_id, body in live.items()]


def _message(doc_id: str, body: Body) -> DocumentMessage:
    entities, facts = body.get("entities"), body.get("facts")
    return DocumentMessage(
        "g",
        doc_id,
        body["text"],
        entities=None if entities is None else tuple(GivenEntity(**one) for one in entities),
        facts=None if facts is None else tuple(GivenFact(**one) for one in facts),
    )


@dataclass
class Walk:
    """One walk. `taken` counts the steps by kind."""

    rng: random.Random
    service: Crashing
    taken: Counter[str] = field(default_factory=Counter)

    def step(self) -> None:
        """Take one random step."""
        kinds: tuple[tuple[Callable[[], None], int], ...] = (
            (self.publish, 50),
            (self.delete, 12),
            (self.ask, 10),
            (self.kill, 4),
            (self.die_at_a_point, 5),
            (self.stop, 2),
            (self.rebuild, 2),
            (self.check, 3),
        )
        [chosen] = self.rng.choices([kind for kind, _ in kinds], [often for _, often in kinds])
        self.taken[chosen.__name__] += 1
        chosen()

    def publish(self) -> None:
        self.service.put(f"d{self.rng.randrange(DOCUMENTS)}", random_body(self.rng))

    def delete(self) -> None:
        if self.service.live:
            self.service.delete(self.rng.choice(sorted(self.service.live)))

    def ask(self) -> None:
        """Query after everything so far: passages are cut from live texts, and a document reads as published."""
        self.service.settle()
        asked = {"question": f"{self.rng.choice(NAMES)}?", "mode": self.rng.choice(("local", "vector"))}
        found = self.service.request("POST", "/query", asked | {"generate": False}).json()
        for passage in found["passages"]:
            assert passage["text"] in self.service.live[passage["doc_id"]]["text"]
        doc_id = self.rng.choice(sorted(self.service.live))
        status = self.service.request("GET", f"/documents/{doc_id}").json()
        assert (status["state"], status["text"]) == ("applied", self.service.live[doc_id]["text"])

    def kill(self) -> None:
        if self.service.service is not None:
            self.service.kill()

    def die_at_a_point(self) -> None:
        """Start the next process with a failpoint: it dies when it passes it, which may be long after or never."""
        self.kill()
        self.service.start(f"{self.rng.choice(POINTS)}:{self.rng.randint(1, 4)}")

    def stop(self) -> None:
        """Send SIGTERM; a failpoint may still turn it into a death."""
        if self.service.service is not None:
            assert self.service.stop() in (0, -9)

    def rebuild(self) -> None:
        self.service.settle()
        found = self.service.request("POST", "/rebuild").json()
        assert found["before"] == found["after"] == expected_digest(self.service.live)

    def check(self) -> None:
        """Check all invariants against the model."""
        self.service.settle()
        self.service.check(expected_digest(self.service.live))


def walk(seed: int, data: Path, enough: Callable[[int], bool]) -> Walk:
    """Walk until `enough` (called with the number of steps) returns True, and check everything at the end."""
    with crashing(data) as service:
        one = Walk(random.Random(seed), service)
        while not enough(sum(one.taken.values())):
            one.step()
        one.check()
        return one


def main() -> None:
    """Walk for some minutes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    end = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as folder:
        one = walk(given.seed, Path(folder), lambda _: time.monotonic() > end)
    steps = ", ".join(f"{count} {kind}" for kind, count in sorted(one.taken.items()))
    print(f"all held over {sum(one.taken.values())} steps: {steps}")
    print(f"{one.service.accepted} revisions, {one.service.deaths} deaths, version {one.service.version}")


if __name__ == "__main__":
    main()
