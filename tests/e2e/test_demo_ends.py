"""The end of `make run`, and its errors at the start: a process, on free ports, its data in an empty folder."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

from tests.support.environment import plain_environment

ROOT = Path(__file__).resolve().parents[2]


def _demo(data: Path, *options: str, **settings: str) -> subprocess.Popen[str]:
    kept = plain_environment()
    environment = {**kept, "PYTHONPATH": str(ROOT), "GRAPHTIDE_DATA": str(data), **settings}
    ports = [] if "GRAPHTIDE_PORT" in settings else ["--port", "0"]
    command = [sys.executable, "-u", "-m", "graphtide.services.demo", "--grpc-port", "0", *ports, *options]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(number, marks=pytest.mark.thorough) for number in (signal.SIGTERM, signal.SIGHUP))],
)
def test_demo_takes_the_service_along_when_it_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    """After Ctrl-C, a supervisor's SIGTERM or a closed terminal no process holds the ports or the data folder."""
    with _demo(tmp_path) as demo:
        assert demo.stdout is not None
        output = "".join(takewhile(lambda line: not line.startswith("Ctrl-C stops"), demo.stdout))
        demo.send_signal(number)
        assert demo.wait(timeout=60) == 0, output
    assert "Kenji Watanabe is the director of Kittiwake Station. [1]" in output
    with _demo(tmp_path, "--leave") as again:
        output, _ = again.communicate(timeout=120)
    assert (again.returncode, "Graphtide is running" in output) == (0, True), output


def test_demo_says_how_to_choose_another_port_when_its_own_is_taken(tmp_path: Path) -> None:
    """The settings of the environment apply to it too, and the message names them."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with _demo(tmp_path, GRAPHTIDE_PORT=str(port)) as demo:
            out, _ = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in out
    assert "GRAPHTIDE_PORT=8090" in out
