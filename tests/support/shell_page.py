"""The commands of a documentation page, run in an empty folder, with their output in the page's place for it.

A fenced block `sh` or `python` is run, and the block `text` that follows it is its output. A comment before a block
names a terminal: `<!-- terminal: service -->` before `sh` runs a command that stays up, and before `text` gives its
next lines; `<!-- stop: service -->` stops it as Ctrl-C does. Invariant: every block runs, in the page's order.
"""

from __future__ import annotations

import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.support.environment import plain_environment
from tests.support.ports import free_port

HTTP, GRPC = "8080", "50051"
"""The ports that pages name; a run uses others."""
TIMEOUT_S = 240
_BLOCK = re.compile(
    r"^(?:<!-- terminal: (?P<terminal>\w+) -->\n)?"
    r"(?P<fence>`{3,})(?P<language>sh|python|text)\n(?P<body>.*?)^(?P=fence)$"
    r"|^<!-- stop: (?P<stop>\w+) -->$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class PageBlock:
    """A block of a page: `start` and `end` are the places of its body in the page's text."""

    language: str
    body: str
    start: int
    end: int
    terminal: str = ""


def blocks_of(page: str) -> list[PageBlock]:
    """Return the blocks of a page that a run uses; the language of a stop is `stop`."""
    found = []
    for each in _BLOCK.finditer(page):
        if each["stop"]:
            found.append(PageBlock("stop", "", each.end(), each.end(), each["stop"]))
        else:
            span = each.span("body")
            found.append(PageBlock(each["language"], each["body"], *span, each["terminal"] or ""))
    return found


def run_page(page: str, folder: Path) -> list[PageBlock]:
    """Run the blocks in `folder`; return the `text` blocks with the real output as their bodies."""
    ports = {HTTP: str(free_port()), GRPC: str(free_port())}
    shown: list[PageBlock] = []
    with ExitStack() as stack:
        run = _Run(folder, ports)
        stack.callback(run.close)
        for block in blocks_of(page):
            output = run.take(block)
            if block.language == "text":
                shown.append(replace(block, body=output))
    return shown


def with_output(page: str, shown: list[PageBlock]) -> str:
    """Return the page with the bodies of its `text` blocks replaced."""
    for block in reversed(shown):
        page = page[: block.start] + block.body + page[block.end :]
    return page


@dataclass(slots=True)
class _Run:
    """The folder, the terminals and the last output of a run."""

    folder: Path
    ports: Mapping[str, str]
    terminals: dict[str, _Terminal] = field(default_factory=dict)
    output: str = ""

    def take(self, block: PageBlock) -> str:
        """Run a block, or return the output that it shows."""
        match block.language:
            case "stop":
                self.output = self.terminals.pop(block.terminal).stop()
            case "text" if block.terminal:
                return self._as_shown(self.terminals[block.terminal].lines(block.body.count("\n")))
            case "text":
                return self._as_shown(self.output)
            case "sh" if block.terminal:
                self.terminals[block.terminal] = _Terminal(self._as_run(block.body), self.folder, self._environment())
            case "sh":
                self.output = self._finished(["bash", "-e", "-c", self._as_run(block.body)])
            case _:
                self.output = self._finished([sys.executable, "-c", self._as_run(block.body)])
        return ""

    def close(self) -> None:
        """Stop every terminal, the last one first."""
        for terminal in reversed(self.terminals.values()):
            terminal.stop()

    def _finished(self, command: list[str]) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def _environment(self) -> dict[str, str]:
        clean = plain_environment(answers={})
        places = {
            "PATH": f"{Path(sys.executable).parent}:{clean['PATH']}",
            "GRAPHTIDE_URL": f"http://127.0.0.1:{self.ports[HTTP]}",
            "GRAPHTIDE_PORT": self.ports[HTTP],
            "GRAPHTIDE_GRPC_PORT": self.ports[GRPC],
        }
        return clean | places | {"COLUMNS": "100", "PYTHONUNBUFFERED": "1"}

    def _as_run(self, text: str) -> str:
        return text.replace(f":{HTTP}", f":{self.ports[HTTP]}")

    def _as_shown(self, text: str) -> str:
        for name, real in self.ports.items():
            text = text.replace(real, name)
        return "".join(line.rstrip() + "\n" for line in text.strip("\n").splitlines())


class _Terminal:
    """A command that stays up, and its lines of output that were not read yet."""

    def __init__(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def lines(self, count: int) -> str:
        """Wait for the next lines, and return them."""
        return "".join(self._lines.get(timeout=TIMEOUT_S) for _ in range(count))

    def stop(self) -> str:
        """Send SIGINT, wait for the end, and return the lines that were not read yet."""
        self._process.send_signal(signal.SIGINT)
        self._process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        return "".join(self._lines.get_nowait() for _ in range(self._lines.qsize()))

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._process.stdout.close()
