"""Prompts by graph: overrides of a folder, versions, and errors of bad files at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.infra.models.prompts.graph_prompts import (
    ANSWER,
    ANSWER_PART,
    REPORT,
    PromptKind,
    load_prompts,
    prompts_by_graph,
)
from graphtide.infra.models.prompts.templates import words_of
from graphtide.streams.errors import Broken

OWN = "Read the text in <document-…>. Give entities and relations with evidence, at most {most_entities}.{guidance}"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_prompts_are_the_built_in_one_without_a_folder() -> None:
    """The built-in prompt has all names filled in, and nothing added."""
    prompt, own = load_prompts(None)
    assert own == {} and "150" in prompt.text and "{most_" not in prompt.text and "{guidance}" not in prompt.text
    assert prompt.text.startswith(words_of("extraction-2")[:200])


def test_prompts_of_a_graph_are_its_own_and_have_a_version_of_their_own(tmp_path: Path) -> None:
    """Types, domain and language are filled in; a whole template replaces the built-in one; other graphs keep
    theirs.
    """
    guidance = 'entity_types = ["vessel", "port"]\ndomain = "polar shipping"\nlanguage = "German"\n'
    files = {"ships/extraction.toml": guidance, "law/extraction.md": OWN, "both/extraction.md": OWN}
    folder = write(tmp_path, files | {"both/extraction.toml": guidance, "empty/notes.txt": "x"})
    prompt, own = load_prompts(folder)
    assert prompt == load_prompts(None)[0] == own["empty"]
    assert all(word in own["ships"].text for word in ("vessel, port", "polar shipping", "German", "<document-"))
    assert own["law"].text == OWN.replace("{most_entities}", "150").replace("{guidance}", "")
    assert "vessel, port" in own["both"].text and own["both"].text.startswith("Read the text")
    assert len({one.version for one in (prompt, own["ships"], own["law"], own["both"])}) == 4


def test_prompts_for_all_graphs_stand_behind_those_of_one(tmp_path: Path) -> None:
    """Files of the folder itself apply to every graph without a file of that name."""
    folder = write(tmp_path, {"extraction.md": OWN, "extraction.toml": 'domain = "law"', "a/extraction.toml": ""})
    prompt, own = load_prompts(folder)
    assert prompt.text.startswith("Read the text") and "about law" in prompt.text
    assert own["a"].text.startswith("Read the text") and "about law" not in own["a"].text


@pytest.mark.parametrize(
    ("file", "text", "cause"),
    [
        ("a/extraction.md", OWN + "{title}", r"\{title\} is an unknown name"),
        ("a/extraction.md", OWN.replace("evidence", "proof"), "does not contain 'evidence'"),
        ("a/extraction.md", OWN.replace("<document-…>", "it"), "does not contain '<document-'"),
        ("a/extraction.md", OWN + "x" * 20_000, "at most"),
        ("a/extraction.toml", "domain = ", "is not TOML"),
        ("a/extraction.toml", 'domian = "x"', "domian is an unknown key"),
        ("a/extraction.toml", "domain = 7", "domain must be one line"),
        ("a/extraction.toml", 'entity_types = ["a", 7]', "list of words"),
        ("a b/extraction.toml", "", "is named for its graph"),
    ],
)
def test_prompts_refuse_a_bad_file_by_its_name(tmp_path: Path, file: str, text: str, cause: str) -> None:
    """The error names the file and its mistake in one sentence."""
    with pytest.raises(Broken, match=cause) as refused:
        load_prompts(write(tmp_path, {file: text}))
    assert str(tmp_path / file).rsplit("/", 1)[0] in str(refused.value)


def test_prompts_refuse_what_cannot_be_read(tmp_path: Path) -> None:
    """A missing folder and a file that is not UTF-8 are Broken."""
    with pytest.raises(Broken, match="does not exist"):
        load_prompts(tmp_path / "none")
    (tmp_path / "extraction.md").write_bytes(b"\xff\xfe")
    with pytest.raises(Broken, match="cannot be read"):
        load_prompts(tmp_path)


@pytest.mark.parametrize("kind", [ANSWER, ANSWER_PART, REPORT], ids=lambda kind: kind.file)
def test_prompts_for_answers_and_reports_are_changed_as_those_for_extraction(tmp_path: Path, kind: PromptKind) -> None:
    """Guidance is filled in, a template replaces the built-in one, other graphs keep theirs."""
    own = " ".join((*kind.needed, "Sagas.{guidance}"))
    folder = write(
        tmp_path,
        {
            f"told/{kind.guide}.toml": 'domain = "sagas"\nlanguage = "Icelandic"',
            f"whole/{kind.file}.md": own,
            "bare/extraction.toml": 'domain = "law"',
        },
    )
    found, built_in = prompts_by_graph(folder, kind), prompts_by_graph(None, kind).default
    assert found.of("bare") == found.of("elsewhere") == found.default == built_in
    assert "{" not in built_in.text.replace("{guidance}", "") and "{guidance}" not in built_in.text
    assert found.of("told").text.startswith(built_in.text.rstrip())
    assert "about sagas" in found.of("told").text and "Icelandic" in found.of("told").text
    assert found.of("whole").text.endswith("Sagas.")
    assert len({built_in.version, found.of("told").version, found.of("whole").version}) == 3


@pytest.mark.parametrize(
    ("file", "text", "cause"),
    [
        ("answer.md", "<passage-…> <text-…> [1]", "does not contain '{nothing}'"),
        ("answer.md", "<passage-…> <text-…> [1] {nothing} {most_entities}", r"\{most_entities\} is an unknown name"),
        ("answer.toml", 'entity_types = ["a"]', "entity_types is an unknown key; known are domain and language"),
    ],
)
def test_prompts_for_answers_refuse_a_bad_file_by_its_name(tmp_path: Path, file: str, text: str, cause: str) -> None:
    """A template must contain the words that its answer is checked by; guidance has only known keys."""
    with pytest.raises(Broken, match=cause) as refused:
        prompts_by_graph(write(tmp_path, {file: text}), ANSWER)
    assert file in str(refused.value)
