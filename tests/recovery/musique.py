"""The law on real documents: the MuSiQue corpus shuffled, each thrice, a third edited, some deleted, and kills.

Too long for every run of the tests: `make law`. It ends with an error when the digest is not that of a clean build.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.service import edited, embedder_python, free_port
from tests.support import law
from tests.support.bench_data import bench_data, corpus, embedder_script
from tests.support.processes import embedding_endpoint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--documents", type=int, default=1890)
    parser.add_argument("--kills", type=int, default=5)
    chosen = parser.parse_args()
    if not (bench_data() / "musique").exists() or not embedder_script().exists():
        sys.exit(f"No bench data in {bench_data()}: set GRAPHTIDE_BENCH_DATA to the folder that holds musique/.")
    print(f"seed {chosen.seed}, {chosen.documents} documents, {chosen.kills} kills")
    rng = random.Random(chosen.seed)
    passages = corpus()[: chosen.documents]
    edits = {one.doc_id: edited(one) for one in rng.sample(passages, len(passages) // 3)}
    plan = law.schedule(rng, {one.doc_id: one.body() for one in passages}, edits, chosen.kills)
    with embedding_endpoint(embedder_python(), free_port()) as url, tempfile.TemporaryDirectory() as folder:
        settings = {"GRAPHTIDE_EMBEDDING_BASE_URL": url, "GRAPHTIDE_EMBEDDING_MODEL": "all-MiniLM-L6-v2"}
        started = time.monotonic()
        digest, verified = law.run(plan, Path(folder) / "troubled", settings)
        print(f"{len(plan.steps)} requests and kills in {time.monotonic() - started:.0f} s: {digest}")
        clean = law.build(plan.live, Path(folder) / "clean", settings)
        print(f"clean build of the {len(plan.live)} documents that are left:  {clean}")
    print(f"verify: {len(verified['differences'])} differences, {verified['checked']}")
    if digest != clean or verified["differences"]:
        sys.exit("the law does not hold")


if __name__ == "__main__":
    main()
