"""The corpus of the cross-encoder's training: every world can be read, and its answers are in its documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.corpus import HELD_OUT, World, WorldError, read_world, read_worlds, unplaced

QUESTION = '{"q": "Who has the key?", "gold": ["Ada has the key."], "type": "who"}'
DOCUMENT = "=== file: a.txt\nAda has\nthe key.\n"


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return read_worlds()


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


def test_worlds_that_are_held_out_exist(worlds: list[World]) -> None:
    """Thresholds are chosen on worlds that are in the corpus and not trained on."""
    assert set(HELD_OUT) < {world.name for world in worlds}


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
