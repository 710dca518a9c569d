"""`make image-check`: the image, built and run by Docker or Podman where one is installed (image_engine.py), and
otherwise the steps of the Dockerfile, run in scratch folders instead of in a container.

The COPY lines fill a folder, the RUN lines of the first stage build the environment, and the service starts from it
with no access to the rest of the repository. Only an engine can test the base image, the packages of the system, the
user and the read-only root.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.request import urlopen

from tests.deploy.image_engine import check_image, engine

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Test the image, or else its steps; the first failure ends it with its output."""
    found = engine()
    if found is None:
        _run_steps()
    else:
        check_image(found, ROOT)


def _run_steps() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        environment, source = folder / "graphtide", folder / "src"
        source.mkdir()
        for kind, words in _steps():
            command = words.replace("/opt/graphtide", str(environment))
            if kind == "COPY":
                _copy(command.split(), source)
            elif "apt-get" not in command:
                sys.stdout.write(f"RUN {command[:110]}\n")
                subprocess.run(["sh", "-ec", command], cwd=source, check=True)
        shutil.rmtree(source)
        _serve(environment / "bin" / "graphtide", folder)
        size_mb = sum(file.lstat().st_size for file in environment.rglob("*") if file.is_file()) >> 20
        sys.stdout.write(f"the image's steps work; its environment takes {size_mb} MB\n")


def _steps() -> list[tuple[str, str]]:
    """Return (COPY or RUN, its words) of the first stage, with continued lines joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    first = text.split("\nFROM ")[1]
    return re.findall(r"^(COPY|RUN) (.+)$", first, re.MULTILINE)


def _copy(words: list[str], folder: Path) -> None:
    *sources, target = words
    for name in sources:
        there = folder / target if (ROOT / name).is_dir() else folder / target / name
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, there, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(ROOT / name, there)


def _serve(program: Path, folder: Path) -> None:
    """Start the service as the image would, request its health and a metric, and stop it."""
    command = [str(program), "serve", "--port", "0", "--grpc-port", "0", "--json", "--data", str(folder / "data")]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = re.findall(r'"http": "([^"]+)"', process.stdout.readline())[0]
            for path in ("/healthz", "/readyz", "/metrics"):
                with urlopen(url + path, timeout=10) as answer:  # noqa: S310
                    sys.stdout.write(f"GET {path} {answer.status}\n")
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
