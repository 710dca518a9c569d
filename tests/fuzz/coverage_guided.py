"""All fuzz targets under atheris, one process each: `python -m tests.fuzz.coverage_guided --minutes N`.

A failing input is written to the current folder by libFuzzer; add it to `tests/fuzz/corpus/TARGET` with the repair.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path


def run_target(name: str, seed: int, seconds: int) -> None:
    """Fuzz one target in this process until it fails or the time is over. Does not return."""
    import atheris

    with atheris.instrument_imports(include=["graphtide"]):
        from tests.fuzz.decoders import CORPUS, TARGETS
    with tempfile.TemporaryDirectory() as found:
        options = [f"-seed={seed % (1 << 31)}", f"-max_total_time={seconds}", "-timeout=60", "-max_len=4096"]
        atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", found, str(CORPUS / name)], TARGETS[name])
        atheris.Fuzz()


def main() -> None:
    """Fuzz every target for an equal share of the time that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--target", default="")
    given = parser.parse_args()
    if given.target:
        run_target(given.target, given.seed, round(given.minutes * 60))
    names = sorted(path.name for path in (Path(__file__).parent / "corpus").iterdir())
    sys.stdout.write(f"seed {given.seed}\n")
    failed = []
    for name in names:
        share = ["--minutes", str(given.minutes / len(names)), "--seed", str(given.seed), "--target", name]
        done = subprocess.run([sys.executable, "-m", "tests.fuzz.coverage_guided", *share], check=False)
        failed += [name] if done.returncode else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
