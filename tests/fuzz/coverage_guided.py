"""All fuzz targets under atheris, one process each: `python -m tests.fuzz.coverage_guided --minutes N`.

atheris exists for Python 3.11 only. Other versions run seeded mutations of the corpora, without guidance by coverage.

A failing input is written to the current folder by libFuzzer; add it to `tests/fuzz/corpus/TARGET` with the repair.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.mutations import mutated


def run_target(name: str, seed: int, seconds: int) -> None:
    """Fuzz one target in this process until it fails or the time is over. Does not return."""
    import atheris

    with atheris.instrument_imports(include=["graphtide"]):
        from tests.fuzz.decoders import CORPUS, TARGETS
    with tempfile.TemporaryDirectory() as found:
        options = [f"-seed={seed % (1 << 31)}", f"-max_total_time={seconds}", "-timeout=60", "-max_len=4096"]
        atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", found, str(CORPUS / name)], TARGETS[name])
        atheris.Fuzz()


def run_mutations(name: str, seed: int, seconds: int) -> None:
    """Run seeded mutations of the target's corpus until one fails or the time is over."""
    from tests.fuzz.decoders import CORPUS, TARGETS

    rng, end = random.Random(seed), time.monotonic() + seconds
    seeds = [path.read_bytes() for path in sorted((CORPUS / name).iterdir())]
    while time.monotonic() < end:
        data = mutated(rng, seeds)
        try:
            TARGETS[name](data)
        except Exception as error:
            error.add_note(f"target {name}, input {data!r}")
            raise


def main() -> None:
    """Fuzz every target for an equal share of the time that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--target", default="")
    given = parser.parse_args()
    guided = importlib.util.find_spec("atheris") is not None
    if given.target:
        run = run_target if guided else run_mutations
        run(given.target, given.seed, round(given.minutes * 60))
        return
    names = sorted(path.name for path in (Path(__file__).parent / "corpus").iterdir())
    sys.stdout.write(f"seed {given.seed}\n")
    if not guided:
        sys.stdout.write("atheris is missing, which needs Python 3.11: mutations run without guidance by coverage\n")
    failed = []
    for name in names:
        share = ["--minutes", str(given.minutes / len(names)), "--seed", str(given.seed), "--target", name]
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.coverage_guided", *share], check=False)
        failed += [name] if done.returncode else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
