"""API keys: creation, storage, look-up and changes; and their file."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from graphtide.services.access.bind_policy import key_file
from graphtide.services.access.keys import KeyRing, new_key, read_keys
from graphtide.services.access.policy import Quota
from graphtide.services.cli import key_editor as keys
from graphtide.services.cli.exit_codes import CommandError
from graphtide.streams.errors import Broken
from tests.support.guarded import KeyFile

WANTED = keys.Wanted("ingest", ("notes", "team-*"), ("read", "write"), 30.0, 5.0, 1000)


def test_new_key_is_found_and_nothing_near_it_is() -> None:
    """Every single change of one character misses; the file holds no part of the secret."""
    key, key_id, hashed = new_key()
    text = f'[[key]]\nname = "a"\nid = "{key_id}"\nhash = "{hashed}"\ngraphs = ["*"]\nactions = ["read"]\n'
    ring = KeyRing(read_keys(text, "file"))
    found = ring.find(key)
    assert found is not None
    assert found.who.name == "a"
    seed = 7
    print(f"seed {seed}")
    chance = random.Random(seed)
    for place in range(len(key)):
        other = chance.choice([char for char in "abcXYZ234_-" if char != key[place]])
        assert ring.find(key[:place] + other + key[place + 1 :]) is None
    for near in ("", key[:-1], key + "a", f" {key}", key.upper()):
        assert ring.find(near) is None
    assert key.split("_", 2)[2][:12] not in text


def test_keys_are_all_different_when_many_are_made() -> None:
    """Ids and salts, too: two files cannot be compared for equal keys."""
    made = [new_key() for _ in range(200)]
    for part in range(3):
        assert len({each[part] for each in made}) == 200


def test_create_list_and_revoke_change_the_file_that_the_service_reads(tmp_path: Path) -> None:
    """A created key is found until it is revoked; comments and other keys stay as they are."""
    file = tmp_path / "deep" / "keys.toml"
    key = str(keys.create(file, WANTED)["key"])
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(file.read_text() + "\n# by hand\n")
    other = str(keys.create(file, keys.Wanted("other", ("*",), ("read",)))["key"])
    watched = key_file(str(file))
    found = watched.value().find(key)
    assert found is not None
    assert (found.who.graphs, found.who.allowance.max_body_bytes) == (("notes", "team-*"), 1000)
    shown = keys.listed(file)["keys"]
    assert [each["name"] for each in shown] == ["ingest", "other"]
    assert key not in str(shown)
    keys.revoke(file, "ingest")
    assert watched.value().find(key) is None
    assert watched.value().find(other) is not None
    assert list(file.parent.iterdir()) == [file]


def test_create_refuses_a_name_that_is_taken_and_revoke_one_that_is_not(tmp_path: Path) -> None:
    """The errors name the remedy."""
    file = tmp_path / "keys.toml"
    keys.create(file, WANTED)
    with pytest.raises(CommandError, match="revoke it first"):
        keys.create(file, WANTED)
    with pytest.raises(CommandError, match="graphtide keys list"):
        keys.revoke(file, "nobody")
    with pytest.raises(CommandError, match="cannot be read"):
        keys.listed(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("spoiled", "message"),
    [
        (("[[key]]", "[[keys]]"), "tables only"),
        (("[[key]]", "[[key]"), "not TOML"),
        (('name = "a"', 'name = "a b"'), "keys create"),
        (('name = "a"', ""), "name must be"),
        (("hmac-sha256", "sha1"), "keys create"),
        (('actions = ["read"]', 'actions = ["all"]'), "must be a list of"),
        (('graphs = ["*"]', 'graphs = "*"'), "graphs must be a list"),
        (('graphs = ["*"]', 'graphs = ["[a-z]"]'), "graphs must be a list"),
        (('graphs = ["*"]', 'graphs = ["*"]\nrate = 1'), "unknown field rate"),
        (('graphs = ["*"]', 'graphs = ["*"]\nrequests_per_second = -1'), "must be a number"),
        (('graphs = ["*"]', 'graphs = ["*"]\nexpires = "soon"'), "expires must be a date"),
    ],
)
def test_damaged_file_is_refused_and_not_quoted(tmp_path: Path, spoiled: tuple[str, str], message: str) -> None:
    """The message names each mistake, and contains no hash."""
    file = KeyFile(tmp_path / "keys.toml")
    file.add("a", "*", "read")
    text = file.path.read_text()
    assert spoiled[0] in text
    with pytest.raises(Broken, match=message) as refused:
        read_keys(text.replace(*spoiled), "keys.toml")
    hashed = text.partition("hmac-sha256:")[2].partition('"')[0]
    assert hashed not in str(refused.value)


def test_file_that_goes_away_leaves_its_keys_in_force_and_says_so(tmp_path: Path) -> None:
    """An editor that removes the file for a moment locks no caller out; the problem is reported until it is solved."""
    file = KeyFile(tmp_path / "keys.toml")
    key = file.add("a", "*", "read")
    watched = key_file(str(file.path))
    aside = file.path.rename(tmp_path / "aside.toml")
    assert watched.value().find(key) is not None
    assert "cannot be read" in watched.problem
    aside.rename(file.path)
    assert not watched.problem
    file.path.unlink()
    assert watched.value().find(key) is not None
    assert "cannot be read" in watched.problem
    file.path.write_text("\n".join(file.tables))
    assert watched.value().find(key) is not None
    assert not watched.problem
    with pytest.raises(Broken, match="cannot be read"):
        key_file(str(tmp_path / "none.toml"))


def test_quota_is_kept_in_the_file_and_shown(tmp_path: Path) -> None:
    """As it was made; a key without one has none, and one that is no number is refused."""
    file = tmp_path / "keys.toml"
    wanted = keys.Wanted("tenant", ("t-*",), ("write",), max_documents=10, max_bytes=1 << 30, max_graphs=2)
    key = str(keys.create(file, wanted)["key"])
    found = KeyRing(read_keys(file.read_text(), "file")).find(key)
    assert found is not None and found.who.allowance.quota == Quota(10, 1 << 30, 2)
    [shown] = keys.listed(file)["keys"]
    assert (shown["max_documents"], shown["max_bytes"], shown["max_graphs"]) == (10, 1 << 30, 2)
    free = str(keys.create(file, keys.Wanted("free", ("*",), ("write",)))["key"])
    unbound = KeyRing(read_keys(file.read_text(), "file")).find(free)
    assert unbound is not None and not unbound.who.allowance.quota
    with pytest.raises(Broken, match="max_graphs must be a number"):
        read_keys(file.read_text().replace("max_graphs = 2", "max_graphs = true"), "file")
