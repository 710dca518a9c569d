"""`sync` follows object stores by the rules of a folder, and no failed or partial listing deletes a document."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fsspec
import pytest

import graphtide
from graphtide.services.cli.exit_codes import UNREACHABLE, USAGE, CommandError
from graphtide.services.cli.sync.remote import RemoteTree, open_remote
from graphtide.services.cli.sync.scan import scan_tree
from graphtide.services.cli.sync.tree import FileTree, LocalTree, SourceUnavailableError, TreeEntry, open_tree
from graphtide.services.cli.sync.watch import watch_by_polling
from tests.support.object_store import gcs_reply, github_reply, json_server, s3_server
from tests.support.syncing import embedded, run

NAMES = ("a.md", "b.txt", "sub/c.csv", "sub/d.jsonl", "sub/deep/e.html", "sub/.hidden/f.md", "g.png")


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with s3_server() as client:
        yield client


@pytest.fixture(params=["s3", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Yield a filesystem of fsspec and the URL of an empty folder of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "s3":
        client = request.getfixturevalue("s3")
        bucket = f"notes-{abs(hash(tmp_path)) % 10**9}"
        client.create_bucket(Bucket=bucket)
        yield fsspec.filesystem("s3", skip_instance_cache=True), f"s3://{bucket}/team/notes"
        return
    files = fsspec.filesystem("memory")
    yield files, "memory://team/notes"
    files.store.clear()
    files.pseudo_dirs[:] = [""]


def write(store: Any, name: str, text: str) -> None:
    files, url = store
    files.pipe_file(f"{url}/{name}", text.encode())


def remove(store: Any, name: str) -> None:
    files, url = store
    files.rm_file(f"{url}/{name}")
    files.invalidate_cache()


def content(rng: random.Random, name: str) -> str:
    person, town = rng.choice(("Ana Ruiz", "Bo Lind", "Cy Moe")), rng.choice(("Lima", "Oslo", "Rome"))
    if name.endswith(".csv"):
        return "name,town\n" + "".join(f"{person} {n},{town}\n" for n in range(rng.randrange(1, 4)))
    if name.endswith(".jsonl"):
        return "".join(
            json.dumps({"id": n, "text": f"{person} saw {town}."}) + "\n" for n in range(rng.randrange(1, 4))
        )
    return f"<h1>Page</h1><p>{person} lives in {town}.</p>" if name.endswith(".html") else f"{person} is in {town}."


@pytest.mark.parametrize("store", ["memory", pytest.param("s3", marks=pytest.mark.thorough)], indirect=True)
@pytest.mark.parametrize("seed", [3])
def test_store_followed_through_random_changes_equals_a_folder_of_equal_files(
    tmp_path: Path, store: Any, seed: int
) -> None:
    """Objects written, overwritten and deleted at random give the digest that the same files give in a folder."""
    print(f"seed {seed}")
    rng, (_, url), mirror = random.Random(seed), store, tmp_path / "notes"
    mirror.mkdir()
    files: dict[str, str] = {}
    with embedded(tmp_path / "data") as (client, database):
        for _ in range(3):
            for name in rng.sample(NAMES, 4):
                if name in files and rng.random() < 0.4 and len(files) > 2:
                    del files[name]
                    remove(store, name)
                else:
                    files[name] = content(rng, name)
                    write(store, name, files[name])
            run(client, same_origin(open_tree(url)), "followed")
        for name, text in files.items():
            (mirror / name).parent.mkdir(parents=True, exist_ok=True)
            (mirror / name).write_text(text)
        run(client, same_origin(LocalTree(mirror)), "folder")
        assert database.graph("followed").documents().documents
        assert database.graph("followed").digest().digest == database.graph("folder").digest().digest
        client.published.clear()
        again = run(client, same_origin(open_tree(url)), "followed")
        assert not again.did_something and client.published == []


def test_objects_of_known_etag_are_not_read(tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass without changes lists, and reads no object; a changed one is the only one read."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    s3.create_bucket(Bucket="etags")
    for name in ("a.md", "b.md", "c.md"):
        s3.put_object(Bucket="etags", Key=name, Body=f"Ana Ruiz owns {name}.".encode())
    with embedded(tmp_path / "data") as (client, database):
        assert run(client, open_tree("s3://etags")).new == ["a.md", "b.md", "c.md"]
        assert database.graph("g").document("a.md").source == "s3://etags/a.md"
        s3.put_object(Bucket="etags", Key="b.md", Body=b"Bo Lind owns b.")
        tree = Counting(open_tree("s3://etags"))
        done = run(client, tree)
        assert (done.changed, done.unchanged, tree.read_names) == (["b.md"], 2, ["b.md"])


def same_origin(tree: FileTree) -> FileTree:
    """Return the tree with an origin that does not depend on its place: the digest covers the sources of documents."""
    counting = Counting(tree)
    counting.origin = "notes"
    return counting


class Counting:
    """A tree that records what is read, and can fail or hide parts of its listings."""

    def __init__(self, tree: FileTree) -> None:
        self._tree = tree
        self.shown, self.origin = tree.shown, tree.origin
        self.read_names: list[str] = []
        self.failing: set[str] = set()
        self.hidden: set[str] = set()
        self.blind = False

    def state_file(self, key: str) -> Path:
        return self._tree.state_file(key)

    def entries(self, folder: str) -> Sequence[TreeEntry]:
        if folder in self.failing:
            raise OSError("503 Slow Down")
        return [each for each in self._tree.entries(folder) if each.name not in self.hidden]

    def has(self, name: str) -> bool:
        if self.blind:
            raise OSError("503 Slow Down")
        return self._tree.has(name)

    def read(self, name: str, size: int) -> bytes:
        self.read_names.append(name)
        return self._tree.read(name, size)


def test_listing_that_fails_or_is_incomplete_deletes_nothing(tmp_path: Path, store: Any) -> None:
    """Neither a failed folder, nor a page that is missing, nor a look-up that fails, is taken for a deletion."""
    for name in ("a.md", "sub/b.md", "sub/deep/c.md", "z.md"):
        write(store, name, f"Ana Ruiz wrote {name}.")
    with embedded(tmp_path / "data") as (client, _):
        tree = Counting(open_tree(store[1]))
        run(client, tree)
        tree.failing = {""}
        with pytest.raises(SourceUnavailableError, match="503 Slow Down; nothing was deleted"):
            run(client, tree, prune=True)
        tree.failing = {"sub"}
        remove(store, "z.md")
        partly = run(client, tree, prune=True)
        assert partly.deleted == ["z.md"] and partly.skipped[0].name == "sub"
        tree.failing, tree.hidden = set(), {"a.md", "deep"}
        hidden = run(client, tree, prune=True)
        assert hidden.deleted == [] and {each.name for each in hidden.skipped} == {"a.md", "sub/deep/c.md"}
        tree.hidden = set()
        remove(store, "sub/b.md")
        tree.blind = True
        assert run(client, tree).deleted == []
        tree.blind = False
        assert run(client, tree).deleted == ["sub/b.md"]
        assert run(client, tree).summary() == "0 new, 0 changed, 0 deleted, 2 unchanged, 0 skipped"


def test_emptied_store_deletes_only_when_asked_and_a_missing_one_never(tmp_path: Path, s3: Any) -> None:
    """An object store has no empty folders: a prefix without objects in a bucket that exists is empty."""
    s3.create_bucket(Bucket="emptied")
    s3.put_object(Bucket="emptied", Key="notes/a.md", Body=b"Ana Ruiz lives in Rome.")
    with pytest.MonkeyPatch.context() as patch, embedded(tmp_path / "data") as (client, _):
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        run(client, open_tree("s3://emptied/notes"))
        s3.delete_object(Bucket="emptied", Key="notes/a.md")
        with pytest.raises(CommandError, match="name --allow-empty"):
            run(client, open_tree("s3://emptied/notes"), prune=True)
        s3.delete_bucket(Bucket="emptied")
        with pytest.raises(SourceUnavailableError, match="nothing was deleted"):
            run(client, open_tree("s3://emptied/notes"), prune=True)
        s3.create_bucket(Bucket="emptied")
        assert run(client, open_tree("s3://emptied/notes"), allow_empty=True).deleted == ["a.md"]


def test_lost_state_of_a_store_is_compared_with_the_service(tmp_path: Path, store: Any) -> None:
    """Without the local record nothing is published again; with --prune what was deleted meanwhile is found."""
    write(store, "a.md", "Ana Ruiz lives in Rome.")
    write(store, "b.md", "Bo Lind lives in Oslo.")
    with embedded(tmp_path / "data") as (client, _):
        run(client, open_tree(store[1]))
        [state] = (tmp_path / "state" / "graphtide").iterdir()
        state.unlink()
        remove(store, "b.md")
        client.published.clear()
        done = run(client, open_tree(store[1]), prune=True)
        assert (done.deleted, done.unchanged, client.published) == (["b.md"], 1, [])


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_interrupted_pass_over_a_store_is_continued(tmp_path: Path, store: Any) -> None:
    """Documents accepted before an interruption are not published again."""
    for number in range(205):
        write(store, f"{number:03}.txt", f"Box {number} is in room {number % 7}.")
    with embedded(tmp_path / "data") as (client, _):
        client.fail_after = 1
        with pytest.raises(KeyboardInterrupt):
            run(client, open_tree(store[1]), wait=False)
        client.fail_after = -1
        assert run(client, open_tree(store[1])).unchanged == 200
        assert len(client.published) == len(set(client.published)) == 205


def test_keys_that_are_no_paths_are_named_and_skipped() -> None:
    """Dots, empty parts and control characters in keys are skipped by name; none of them leaves the prefix."""
    names = ("..", ".", "line\nbreak.md", "../../etc/a.md", "ok.md")
    listed = [{"name": f"b/n/{name}", "size": 9, "type": "file", "ETag": "x"} for name in names]
    listed += [{"name": "b/n/", "size": 0, "type": "file"}, {"name": "b/n//", "size": 0, "type": "directory"}]
    scan = scan_tree(RemoteTree("s3://b/n", FakeStore(listed), "b/n"))
    assert list(scan.files) == ["ok.md"]
    named = {each.name: each.reason for each in scan.skipped}
    assert "control character" in named["line\\nbreak.md"] and "(empty name)" in named
    assert all("\n" not in name for name in named)


class FakeStore:
    """A filesystem of fsspec whose listing is given, or fails."""

    def __init__(self, listed: list[dict[str, Any]] | Exception) -> None:
        self._listed = listed

    def invalidate_cache(self) -> None: ...

    def ls(self, path: str, detail: bool) -> list[dict[str, Any]]:
        if isinstance(self._listed, Exception):
            raise self._listed
        return self._listed


def test_huge_object_is_not_fetched(tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An object beyond the limit is skipped by its listed size; one that grew since then is not read to its end."""
    monkeypatch.setattr("graphtide.services.cli.sync.scan.MAX_FILE_BYTES", 10)
    s3.create_bucket(Bucket="huge")
    s3.put_object(Bucket="huge", Key="large.txt", Body=b"x" * 11)
    s3.put_object(Bucket="huge", Key="grows.txt", Body=b"x" * 10)
    tree = open_tree("s3://huge")
    scan = scan_tree(tree)
    assert list(scan.files) == ["grows.txt"] and "is larger than" in scan.skipped[0].reason
    s3.put_object(Bucket="huge", Key="grows.txt", Body=b"x" * 1_000_000)
    with pytest.raises(OSError, match="grew while it was read"):
        tree.read("grows.txt", 10)


def test_unreadable_bucket_is_an_error_without_secrets(monkeypatch: pytest.MonkeyPatch, s3: Any) -> None:
    """A refused listing names the reason and neither the key's secret nor a password."""
    tree = open_remote("s3://no-such-bucket-here/notes")
    with pytest.raises(SourceUnavailableError) as failed:
        scan_tree(tree)
    assert "test-secret-value" not in str(failed.value)
    with pytest.raises(CommandError) as refused:
        open_remote("sftp://ana:hunter2@host/notes")
    assert refused.value.code == USAGE and "hunter2" not in str(refused.value)

    refusing = FakeStore(ValueError("cannot sign b: secret_key=hunter2 at https://ana:hunter2@host/"))
    with pytest.raises(SourceUnavailableError) as leaking:
        scan_tree(RemoteTree("x://b", refusing, "b"))
    assert "hunter2" not in str(leaking.value) and "cannot sign" in str(leaking.value)


def test_missing_packages_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fsspec, or the package of a protocol, the command names what to install."""
    with pytest.raises(CommandError, match="not a protocol of fsspec"):
        open_tree("nonsense://bucket")
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(CommandError, match=r"graphtide\[remote\]"):
        open_tree("abfs://container")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(CommandError, match=r"s3:// needs fsspec: pip install 'graphtide\[remote\]'"):
        open_tree("s3://bucket")


def test_file_url_is_a_folder_of_this_machine(tmp_path: Path) -> None:
    """file:// takes the path of local folders, with their state beside the files."""
    (tmp_path / "my notes").mkdir()
    tree = open_tree(f"file://{str(tmp_path).replace(' ', '%20')}/my%20notes")
    assert isinstance(tree, LocalTree) and tree.folder == tmp_path / "my notes"
    with pytest.raises(CommandError, match="is not a folder"):
        open_tree(str(tmp_path / "missing"))


def test_folder_that_cannot_be_listed_keeps_its_documents(tmp_path: Path) -> None:
    """A local folder obeys the same rule: a sub-folder that fails is named, and its documents stay."""
    (tmp_path / "notes" / "sub").mkdir(parents=True)
    (tmp_path / "notes" / "a.md").write_text("Ana Ruiz lives in Rome.")
    (tmp_path / "notes" / "sub" / "b.md").write_text("Bo Lind lives in Oslo.")
    with embedded(tmp_path / "data") as (client, _):
        tree = Counting(LocalTree(tmp_path / "notes"))
        run(client, tree)
        tree.failing = {"sub"}
        assert run(client, tree, prune=True).deleted == []


def test_polling_continues_after_an_unreachable_store() -> None:
    """A pass that finds the store or the service unreachable is reported once, and tried again at the next interval."""
    messages: list[str] = []
    outcomes: list[BaseException | None] = [
        SourceUnavailableError("s3://b cannot be listed"),
        CommandError("the service is unreachable", UNREACHABLE),
        None,
        SourceUnavailableError("s3://b cannot be listed"),
        KeyboardInterrupt(),
    ]
    waits: list[float] = []

    def once() -> None:
        outcome = outcomes.pop(0)
        if outcome is not None:
            raise outcome

    with pytest.raises(KeyboardInterrupt):
        watch_by_polling(7, once, messages.append, waits.append)
    assert waits == [7] * 5 and len(messages) == 2 and all("trying again in 7 s" in each for each in messages)


def test_documents_of_a_url_are_read_for_programs(store: Any) -> None:
    """`graphtide.documents_in` takes a URL, with the ids of `sync`."""
    write(store, "a.md", "Ana Ruiz lives in Rome.")
    write(store, "b.pdf", "no PDF")
    skipped: list[str] = []
    found = list(graphtide.documents_in(store[1], on_skipped=lambda name, _: skipped.append(name)))
    assert [each["id"] for each in found] == ["a.md"] and skipped == ["b.pdf"]


FILES = {"docs/a.md": b"Ana Ruiz lives in Rome.", "docs/sub/b.txt": b"Bo Lind lives in Oslo.", "c.md": b"outside"}


def test_google_cloud_storage_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client of gs:// lists, reads and sees a deletion; the emulator variable is its own means."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    objects = dict(FILES)
    with json_server(gcs_reply(objects)) as address, embedded(tmp_path / "data") as (client, _):
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", address)
        monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # a probe by gRPC, which the server lacks
        monkeypatch.setenv("FSSPEC_GS_TOKEN", "anon")
        fsspec.config.set_conf_env(fsspec.config.conf)
        assert run(client, open_tree("gs://bucket/docs")).new == ["a.md", "sub/b.txt"]
        del objects["docs/sub/b.txt"]
        done = run(client, open_tree("gs://bucket/docs"))
        assert (done.deleted, done.unchanged) == (["sub/b.txt"], 1)
    fsspec.config.conf.pop("gs", None)


def test_github_repository_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of a repository at a ref is listed by its trees, and a new commit changes one document."""
    from fsspec.implementations.github import GithubFileSystem

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    files = dict(FILES)
    with json_server(github_reply(files)) as address, embedded(tmp_path / "data") as (client, _):
        monkeypatch.setattr(GithubFileSystem, "url", f"{address}/trees/{{sha}}")
        monkeypatch.setattr(GithubFileSystem, "content_url", f"{address}/contents/{{path}}")
        place = "github://acme:handbook@main/docs"
        assert run(client, open_tree(place)).new == ["a.md", "sub/b.txt"]
        files["docs/a.md"] = b"Ana Ruiz lives in Lima."
        tree = Counting(open_tree(place))
        assert run(client, tree).changed == ["a.md"] and tree.read_names == ["a.md"]
