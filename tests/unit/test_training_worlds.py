"""The corpus on which cross-encoder and ranker are trained: worlds can be read; answers are in their documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.corpus import CorpusPart, World, WorldError, read_world, read_worlds, unplaced

QUESTION = '{"q": "Who has the key?", "gold": ["Ada has the key."], "type": "who"}'
DOCUMENT = "=== file: a.txt\nAda has\nthe key.\n"


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [world for part in CorpusPart for world in read_worlds(part)]


def test_every_answer_of_every_world_occurs_in_a_document(worlds: list[World]) -> None:
    """A place that a question names is verbatim, apart from white space."""
    assert [message for world in worlds for message in unplaced(world)] == []


def test_every_world_has_documents_and_questions_that_differ(worlds: list[World]) -> None:
    """A question that is asked twice would count twice, or be answered from a cache."""
    for world in worlds:
        texts = [question.text for question in world.questions]
        assert world.documents, world.name
        assert texts, world.name
        assert [text for text in texts if texts.count(text) > 1] == [], world.name


def test_each_world_is_of_one_part_and_no_part_is_empty(worlds: list[World]) -> None:
    """Nothing is chosen or judged on worlds that it was trained on."""
    names = [world.name for world in worlds]
    assert len(names) == len(set(names))
    assert all(read_worlds(part) for part in CorpusPart)


def test_place_that_no_document_has_is_named_with_world_and_question(tmp_path: Path) -> None:
    world = read_world(_written(tmp_path, f"{DOCUMENT}=== questions\n{QUESTION.replace('Ada', 'Bo')}\n"))
    assert list(unplaced(world)) == ["w: 'Who has the key?': occurs in no document: 'Bo has the key.'"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Ada has the key.\n", 1),
        ("=== folder: a\n", 1),
        (f"{DOCUMENT}=== questions\nWho has the key?\n", 5),
        (f"{DOCUMENT}=== questions\n\n{QUESTION}\n[]\n", 7),
        (f'{DOCUMENT}=== questions\n{{"q": "Who?", "type": "who"}}\n', 5),
        (f'{DOCUMENT}=== questions\n{{"q": "Who?", "gold": "Ada", "type": "who"}}\n', 5),
        (f'{DOCUMENT}=== questions\n{{"q": "Who?", "gold": [], "type": "who", "answer": "Ada"}}\n', 5),
    ],
    ids=["no header", "unknown header", "not JSON", "no object", "no gold", "gold no list", "unknown field"],
)
def test_error_in_a_world_names_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    """An editor of a world finds the place of the error."""
    path = _written(tmp_path, text)
    with pytest.raises(WorldError) as caught:
        read_world(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def _written(folder: Path, text: str) -> Path:
    path = folder / "w.txt"
    path.write_text(text, encoding="utf-8")
    return path
