"""Each command that a remedy of the doctor or a runbook names is executed against a service with dead letters."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner

from graphtide.services.cli.top_level.app import app
from tests.support.llm_server import LlmServer
from tests.support.processes import service
from tests.support.watching import POISON, unreadable

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
RUNBOOKS = ROOT / "docs" / "runbooks.md"
REMEDIES = [
    *(ROOT / "services" / "doctor").glob("*.py"),
    ROOT / "services" / "cli" / "commands" / "doctor.py",
    ROOT / "infra" / "kafka" / "log.py",
]
WORD = r"[a-z]+"
OPTION = r"--(?:force|[a-z-]+ (?:'[^']*'|[A-Za-z0-9_.*{}/-]+))"
COMMAND = re.compile(rf"graphtide ({WORD}(?: {WORD}(?=[ `.]|$))?)((?: (?:{OPTION}|[A-Z]+))*)")
FOREVER = {"serve", "worker"}
"""Commands that run until they are stopped: they are only parsed."""
ELSEWHERE = {"topics"}
"""Commands that need Kafka: parsed here, executed on a real one in test_doctor_cluster."""
STOPPED = {"reembed", "restore"}
"""Commands that need the data folder for themselves: executed after the service has stopped."""


def texts_of(file: Path) -> Iterator[str]:
    """Return the strings of a module, f-strings with `G` for each placeholder; the code spans of a page."""
    if file.suffix == ".md":
        yield from re.findall(r"`([^`]+)`", file.read_text())
        return
    nodes = list(ast.walk(ast.parse(file.read_text())))
    filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    within = {id(part) for node in filled for part in node.values}
    for each in filled:
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "G" for part in each.values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in within:
            yield node.value


def named_in(text: str) -> Iterator[tuple[str, ...]]:
    """Return the commands in the text, as words. A second word that is no command belongs to the sentence."""
    top = typer.main.get_command(app)
    assert isinstance(top, typer.core.TyperGroup)
    for words, rest in COMMAND.findall(" ".join(text.split())):
        name, _, second = words.partition(" ")
        if name not in top.commands:
            continue
        is_group = isinstance(top.commands[name], typer.core.TyperGroup)
        takes_second = is_group or name == "worker"
        if takes_second and not second:
            continue  # the sentence means the group
        yield (name, *([second] if takes_second else []), *shlex.split(rest if takes_second or not second else ""))


def commands() -> list[tuple[str, ...]]:
    """Return all commands that any source names."""
    return sorted({each for file in (RUNBOOKS, *REMEDIES) for text in texts_of(file) for each in named_in(text)})


def test_commands_are_found_in_remedies_and_runbooks() -> None:
    """The search finds known commands: in a string, in an f-string, on the page."""
    found = commands()
    assert {("topics", "apply"), ("rebuild", "--graph", "G"), ("dlq", "retry", "ID", "--graph", "G")} <= set(found)
    assert {("status",), ("worker", "extract"), ("restore", "DIR", "--force")} <= set(found)


def test_each_named_command_is_carried_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each runs against a service with a dead letter; those that need Kafka, or never end, are parsed."""
    monkeypatch.chdir(tmp_path)
    backup = str(tmp_path / "backup")
    with LlmServer(says=unreadable) as llm:
        settings = {"GRAPHTIDE_LLM_MODEL": "fake", "GRAPHTIDE_LLM_API_KEY": "k", "GRAPHTIDE_LLM_BASE_URL": llm.base_url}
        with service(tmp_path / "data", settings) as one, httpx.Client(base_url=one.url, timeout=60) as client:
            monkeypatch.setenv("GRAPHTIDE_URL", one.url)
            for name, value in {**settings, "GRAPHTIDE_DATA": str(tmp_path / "data")}.items():
                monkeypatch.setenv(name, value)
            for command in commands():
                if command[0] in FOREVER | ELSEWHERE:
                    _parse(command)
                elif command[0] not in STOPPED:
                    _carry_out(command, client, one.url)
            _invoke(["backup", backup])
        for command in commands():
            if command[0] in STOPPED:
                _invoke([backup if word == "DIR" else word for word in command])


def test_remedy_for_letters_that_name_no_graph_is_carried_out(tmp_path: Path) -> None:
    """The command accepts the pattern for such letters; an empty name would be no path of the service."""
    with service(tmp_path / "data", {}) as one:
        done = CliRunner().invoke(app, ["dlq", "list", "--graph", "*", "--url", one.url, "--json"])
        assert (done.exit_code, json.loads(done.stdout)["letters"]) == (0, [])


def _parse(command: tuple[str, ...]) -> None:
    context = typer.main.get_command(app).make_context("graphtide", list(command), resilient_parsing=False)
    with context:
        found = context.command
        for word in command[:2]:
            if isinstance(found, typer.core.TyperGroup):
                found = found.commands[word]
        assert not isinstance(found, typer.core.TyperGroup), command
        words = list(command[2:] if len(command) > 1 and command[0] != "worker" else command[1:])
        found.make_context(command[0], words, parent=context)


def _carry_out(command: tuple[str, ...], client: httpx.Client, url: str) -> None:
    """Execute a command, with a letter and a document of its own where it takes one."""
    letter = _dead_letter(client)
    identifier = letter if command[0] == "dlq" else "well"
    values = {"G": "g", "ID": identifier, "NAME": "somebody", "URL": url}
    _invoke([values.get(word, word) for word in command])


def _invoke(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, (words, done.output, done.exception)


def _dead_letter(client: httpx.Client) -> str:
    """Apply a document, and return the id of a dead letter of its graph."""
    token = client.put("/v1/graphs/g/documents/well", json={"text": "Ada met Bob.", "facts": []}).json()["token"]
    client.put("/v1/graphs/g/documents/ill", json={"text": POISON}).raise_for_status()
    asked = {"question": "Who met Bob?", "generate": False, "after": token}
    client.post("/v1/graphs/g/query", json=asked).raise_for_status()
    while not (letters := client.get("/v1/graphs/g/dead-letters").json()["letters"]):
        pass
    return str(letters[0]["id"])
