"""The command line as users and scripts run it: as a process, against a service behind a real socket."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from graphtide.services.api.http.app import create_app
from graphtide.streams.errors import Overloaded
from tests.support.application import InMemoryApplication
from tests.support.environment import plain_environment
from tests.support.serving import http_service, opened

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Ended:
    """Result of a command."""

    code: int
    out: str
    err: str

    def json(self) -> dict[str, object]:
        """Return standard output, which must be one JSON object."""
        body = json.loads(self.out)
        assert isinstance(body, dict)
        return body


Run = Callable[..., Awaitable[Ended]]


async def graphtide(*arguments: str, url: str = "", folder: Path | None = None, stdin: bytes = b"") -> Ended:
    """Run the command line to its end."""
    process = await _start(*arguments, url=url, folder=folder)
    out, err = await process.communicate(stdin)
    ended = Ended(process.returncode or 0, out.decode(), err.decode())
    assert "Traceback" not in ended.err, ended.err
    return ended


async def _start(*arguments: str, url: str = "", folder: Path | None = None) -> asyncio.subprocess.Process:
    kept = plain_environment()
    environment = {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "200", **({"GRAPHTIDE_URL": url} if url else {})}
    command, pipe = (sys.executable, "-m", "graphtide.services.cli", *arguments), asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=folder
    )


@pytest.fixture
def application() -> InMemoryApplication:
    return InMemoryApplication()


@pytest_asyncio.fixture
async def url(application: InMemoryApplication) -> AsyncIterator[str]:
    """Yield the URL of a service over the in-memory application."""
    async with http_service(create_app(application)) as url:
        yield url


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """Return a folder of notes, with a binary one and lines that are no documents."""
    (tmp_path / "notes" / "sub").mkdir(parents=True)
    (tmp_path / "notes" / ".git").mkdir()
    files = {
        "a.md": b"Intro.\n\n# Marie *Curie* #\n\nMarie Curie discovered polonium.",
        "sub/b.txt": b"\xef\xbb\xbf# no heading in plain text",
        "c.jsonl": b'{"id":"x","text":"One."}\n\n{"text":"Two."}\nnot json\n{"id":"y"}\n',
        "binary.txt": b"\x89\0",
        "picture.png": b"\x89PNG",
        ".git/d.md": b"hidden",
    }
    for name, content in files.items():
        (tmp_path / "notes" / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("kind", ["embedded", pytest.param("memory", marks=pytest.mark.thorough)])
async def test_commands_tell_one_story_when_run_one_after_the_other(kind: str, tmp_path: Path) -> None:
    """Publish, wait, query, list, delete, verify and rebuild agree: all with --json, on each application."""
    (tmp_path / "a.txt").write_text("Marie Curie discovered polonium in 1898.")
    async with opened(kind, tmp_path / "data") as application, http_service(create_app(application)) as url:

        async def run(*arguments: str) -> dict[str, object]:
            ended = await graphtide(*arguments, "--graph", "g", "--json", url=url, folder=tmp_path)
            assert (ended.code, ended.err) == (0, "")
            return ended.json()

        published = await run("publish", "a.txt", "--wait")
        assert (published["accepted"], published["states"]) == (1, {"applied": 1})
        answer = await run("query", "What did Marie Curie discover?", "--after", str(published["token"]), "--explain")
        assert [each["doc_id"] for each in answer["citations"]] == ["a.txt"]  # type: ignore[attr-defined]
        assert answer["trace"]
        assert (await run("document", "a.txt"))["source"] == "a.txt"
        assert (await run("stats"))["lag"] == 0
        digest = (await run("digest"))["digest"]
        assert (await run("verify"))["recounted"] == digest
        assert (await run("rebuild"))["after"] == digest
        token = (await run("delete", "a.txt"))["token"]
        assert (await run("query", "polonium", "--after", str(token), "--no-generate"))["passages"] == []
        ended = await graphtide("status", "--json", url=url)
        assert ended.json()["ready"] is True
        assert (await graphtide("graphs", "--json", url=url)).json()["graphs"]


async def test_publish_takes_a_folder_and_names_what_it_cannot_read(
    url: str, application: InMemoryApplication, notes: Path
) -> None:
    """Ids are paths; a record without an id is identified by content; unreadable files are named and make it fail."""
    ended = await graphtide("publish", "notes", "--graph", "g", "--wait", url=url, folder=notes)
    assert ended.code == 1
    assert "notes/binary.txt: contains binary data and is not a text; convert it" in ended.err
    assert "notes/c.jsonl:4: is not a JSON object" in ended.err
    assert "notes/c.jsonl:5: text is missing" in ended.err
    documents = {doc_id: document for (_, doc_id), (_, document) in application.documents.items()}
    [record] = set(documents) - {"notes/a.md", "notes/sub/b.txt", "x"}
    assert record.startswith("notes/c.jsonl#") and record != "notes/c.jsonl#3"
    assert documents["notes/a.md"] is not None
    assert (documents["notes/a.md"].media_type, documents["notes/a.md"].info.title) == ("text/markdown", "")
    assert documents["notes/sub/b.txt"] is not None
    assert (documents["notes/sub/b.txt"].text[0], documents["notes/sub/b.txt"].info.title) == ("#", "b")


async def test_publish_gives_the_same_ids_when_named_differently(
    url: str, application: InMemoryApplication, notes: Path
) -> None:
    """A file under the working folder has one id: by folder, by file, by absolute path, twice at once."""
    target = str(notes / "notes" / "a.md")
    ended = await graphtide("publish", target, "notes/../notes/a.md", "notes/sub/..", url=url, folder=notes)
    assert ended.code == 1
    ids = [document.doc_id for batch in application.publishes for document in batch]
    assert [doc_id.partition("#")[0] for doc_id in sorted(ids)] == [
        "notes/a.md",
        "notes/c.jsonl",
        "notes/sub/b.txt",
        "x",
    ]


@pytest.mark.thorough
async def test_publish_replaces_a_file_elsewhere_when_it_is_named_alone(
    url: str, application: InMemoryApplication, notes: Path, tmp_path: Path
) -> None:
    """Outside of the working folder the id is the whole path: by its folder or by itself, it is one document."""
    elsewhere, folder = tmp_path / "here", notes / "notes"
    elsewhere.mkdir()
    for named in (folder, folder / "a.md", folder / "sub" / ".." / "a.md"):
        await graphtide("publish", str(named), "--graph", "g", url=url, folder=elsewhere)
    ids = [document.doc_id for batch in application.publishes for document in batch]
    assert ids.count(str(folder / "a.md")) == 3
    assert not {"a.md", "notes/a.md"} & set(ids)
    deleted = await graphtide("delete", str(folder / "a.md"), "--graph", "g", url=url, folder=elsewhere)
    assert deleted.code == 0
    assert application.documents["g", str(folder / "a.md")][1] is None


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [
        (b'{"id":"a","text":"One."}\n{"id":"b","text":"Two."}\n', ["a", "b"]),
        (b"Just a text.\n{with: braces}\n", ["memo"]),
        (b'{"id":"a","text":"One."}\nbut not all', ["memo"]),
    ],
)
async def test_publish_reads_standard_input_when_asked_to(
    url: str, application: InMemoryApplication, stdin: bytes, expected: list[str]
) -> None:
    """The input is JSONL if every line is an object, one text otherwise."""
    ended = await graphtide("publish", "-", "--id", "memo", "--json", url=url, stdin=stdin)
    assert (ended.code, ended.json()["accepted"]) == (0, len(expected))
    assert [document.doc_id for batch in application.publishes for document in batch] == expected


async def test_publish_comes_again_when_the_service_asks_to_wait(application: InMemoryApplication) -> None:
    """The command obeys 429 with Retry-After, reports the wait on standard error, and loses nothing."""
    application.failures = [Overloaded("busy", 1.0)]
    async with http_service(create_app(application)) as url:
        ended = await graphtide("publish", "-", url=url, stdin=b"A text.")
    assert (ended.code, "waiting 1 s" in ended.err) == (0, True)
    assert len(application.publishes) == 1


async def test_publish_sends_many_in_batches(url: str, application: InMemoryApplication, tmp_path: Path) -> None:
    """Hundreds of lines become a few requests, in order."""
    lines = "".join(json.dumps({"id": str(n), "text": f"Text {n}."}) + "\n" for n in range(450))
    (tmp_path / "many.jsonl").write_text(lines)
    ended = await graphtide("publish", "many.jsonl", "--json", url=url, folder=tmp_path)
    assert ended.json()["accepted"] == 450
    assert [len(batch) for batch in application.publishes] == [200, 200, 50]
    assert [document.doc_id for batch in application.publishes for document in batch] == [str(n) for n in range(450)]


FAILING = [
    (["document", "nope"], 3, "no document nope"),
    (["delete", "nope"], 3, "no document nope"),
    (["stats", "--graph", "none"], 3, "no graph none"),
    (["stats", "--graph", "Default"], 3, "did you mean 'default'?"),
    (["stats", "--graph", "a|b"], 2, "graph: "),
    (["query", "x", "--mode", "bogus"], 2, "mode: "),
    (["query", " "], 2, "question: is empty"),
    (["publish", "nowhere.txt"], 2, "file nowhere.txt does not exist"),
    (["publish", "."], 2, "name other files"),
    (["worker", "extract", "--metrics-port", "0"], 1, "needs both GRAPHTIDE_KAFKA"),
    (["worker", "gateway", "--metrics-port", "0"], 1, "GRAPHTIDE_QUERY_TARGET"),
    (["worker", "dance"], 2, "dance"),
    (["query"], 2, "question"),
    (["verify", "notes"], 2, "(notes); name a graph by --graph GRAPH"),
    (["query", "Who", "leads it?"], 2, "put a text of several words in quotes"),
    (["worker", "extract", "more"], 2, "argument(s) (more) "),
    (["stats", "--url", "http://127.0.0.1:1"], 4, "start it with graphtide serve"),
    (["stats", "--url", "nonsense"], 2, "nonsense is not a URL"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), FAILING)
async def test_command_says_what_is_wrong_when_it_fails(
    url: str, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    """It prints one clear sentence on standard error only, and exits with the documented code."""
    async with httpx.AsyncClient(base_url=url, timeout=120) as http:
        await http.put("/v1/graphs/default/documents/a", json={"text": "one"})
    ended = await graphtide(*arguments, url=url, folder=tmp_path)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


async def test_verify_exits_with_its_own_code_when_something_differs(
    url: str, application: InMemoryApplication
) -> None:
    """The differences are the result, on standard output; the exit code is 5."""
    application.differences = ("weight of r1: 2 stored, 1 recounted",)
    await graphtide("publish", "-", url=url, stdin=b"A text.")
    ended = await graphtide("verify", "--json", url=url)
    assert (ended.code, ended.json()["differences"]) == (5, list(application.differences))
    assert "1 differences" in ended.err


async def test_status_fails_when_the_service_is_not_ready(url: str, application: InMemoryApplication) -> None:
    """The parts are shown, and the exit code shows the failure to a script."""
    application.ready = False
    ended = await graphtide("status", url=url)
    assert (ended.code, "the store is replaying" in ended.out) == (1, True)


async def test_query_prints_documents_as_they_are_when_they_look_like_markup(url: str) -> None:
    """Square brackets in a document are text, not formatting."""
    await graphtide("publish", "-", "--id", "[red]x[/red]", url=url, stdin=b"[bold]polonium[/nothing] :smile:")
    ended = await graphtide("query", "polonium", url=url)
    assert ended.code == 0
    assert "[bold]polonium[/nothing] :smile:" in ended.out
    assert "[1] [red]x[/red]" in ended.out


async def test_help_names_every_exit_code_and_imports_nothing_heavy() -> None:
    """Help starts fast because no server, client or science library is loaded for it."""
    ended = await graphtide("--help")
    assert (ended.code, "5 verification found differences" in " ".join(ended.out.split())) == (0, True)
    heavy = "{'httpx', 'uvicorn', 'fastapi', 'grpc', 'pydantic', 'numpy'}"
    code = f"import sys, graphtide.services.cli.top_level.app; sys.exit(len({heavy} & set(sys.modules)))"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT)
    assert await process.wait() == 0


async def _serving(folder: Path) -> tuple[asyncio.subprocess.Process, dict[str, str]]:
    """Yield a running `graphtide serve`, and the addresses it reports."""
    pytest.importorskip("graphtide.services.wiring")
    options = ("--port", "0", "--grpc-port", "0", "--data", str(folder / "data"), "--json")
    process = await _start("serve", *options, folder=folder)
    assert process.stdout is not None
    line = await process.stdout.readline()
    assert line, (await process.communicate())[1].decode()
    addresses: dict[str, str] = json.loads(line)
    return process, addresses


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
async def test_serve_ends_cleanly_when_told_to(tmp_path: Path, stop: signal.Signals) -> None:
    """It reports its addresses as one line of JSON, keeps what it accepted, and exits with 0."""
    for text, graphs in ((b"Marie Curie discovered polonium.", []), (b"She was born in Warsaw.", ["default"])):
        process, addresses = await _serving(tmp_path)
        async with httpx.AsyncClient(base_url=addresses["http"], timeout=120) as http:
            assert [each["graph"] for each in (await http.get("/v1/graphs")).json()["graphs"]] == graphs
            assert "process_cpu_seconds_total" in (await http.get("/metrics")).text
        ended = await graphtide("publish", "-", "--wait", url=addresses["http"], stdin=text)
        assert ended.code == 0, ended.err
        process.send_signal(stop)
        _, err = await process.communicate()
        assert (process.returncode, "Traceback" in err.decode()) == (0, False)


async def test_serve_says_so_when_a_port_is_taken(tmp_path: Path) -> None:
    """It prints one sentence with the option to change, for HTTP and for gRPC."""
    process, addresses = await _serving(tmp_path)
    for option, other, address in (("--port", "--grpc-port", "http"), ("--grpc-port", "--port", "grpc")):
        port = addresses[address].rpartition(":")[2]
        ended = await graphtide("serve", option, port, other, "0", "--data", str(tmp_path / "other"))
        assert (ended.code, f"choose another with {option}" in ended.err) == (1, True), ended.err
    process.terminate()
    await process.communicate()


async def test_serve_names_the_setting_when_the_file_is_wrong(tmp_path: Path) -> None:
    """A typing error in graphtide.toml stops the start, with exit code 2."""
    (tmp_path / "graphtide.toml").write_text("prot = 1\n")
    ended = await graphtide("serve", folder=tmp_path)
    assert (ended.code, "prot is an unknown setting" in ended.err) == (2, True)


async def test_version_is_that_of_the_installed_distribution() -> None:
    """The version has one place, pyproject.toml; the short option for help works everywhere."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (await graphtide("--version")).out.strip() == f"graphtide {declared}"
    assert "Usage: graphtide" in (await graphtide("-h")).out
