"""The prose check: each pattern is found in a made-up sentence, and neither code nor names are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lint.prose import PATTERNS, Hit, hits_in, tracked

PAGE, MODULE = Path("page.md"), Path("module.py")
SENTENCES = [
    ["The row stands in the file.", "Rows stand there.", "Each claim has a standing of its own."],
    ["Somebody sends it.", "Nobody waits.", "Anybody may ask.", "Whoever asks.", "Whomever it asks.", "One of whom."],
    ["The worker goes on.", "Workers go on.", "What is going on.", "The worker went on."],
    ["The server is away.", "The servers are away.", "It was away."],
    ["Likewise for the others."],
    ["Sixteen at the most.", "Sixteen at the least."],
    ["The server says no.", "They say no.", "It said so."],
    ["It is no setting.", "It is no token.", "It is no name."],
    ["In front of the service.", "The text behind it."],
    ["Two requests a second.", "Two tokens a minute.", "Two calls a hour.", "Two documents a day."],
    ["The caller is told.", "The callers are told.", "It must be told."],
    ["Thereby it ends.", "The part whereof it is made.", "The rows therein.", "Henceforth it ends."],
    ["The gate lets in a caller.", "Let go of the lock."],
    ["A search is dear.", "A join is dearer.", "The dearest step."],
    ["Mend the index.", "It mends a row.", "A mended row.", "By mending it."],
    ["Calls under way."],
]
"""Made-up sentences for each pattern, in the order of PATTERNS; each has exactly one hit."""
CASES = [
    pytest.param(sentence, hint, id=sentence)
    for sentences, hint in zip(SENTENCES, PATTERNS.values(), strict=True)
    for sentence in sentences
]


def hits(file: Path, text: str) -> list[Hit]:
    """Return the hits of a text as the content of the file."""
    return list(hits_in(file, text))


@pytest.mark.parametrize(("sentence", "hint"), CASES)
def test_prose_finds_each_pattern_when_a_page_has_it(sentence: str, hint: str) -> None:
    """The hit has the line of the sentence and the remedy of the pattern."""
    assert [(hit.line, hit.hint) for hit in hits(PAGE, f"# Title\n\n{sentence}\n")] == [(3, hint)]


@pytest.mark.parametrize(("sentence", "hint"), CASES)
def test_prose_finds_each_pattern_when_a_module_has_it(sentence: str, hint: str) -> None:
    """Docstrings, comments, messages and f-strings are prose."""
    lines = [f'"""The module. {sentence}"""', f"# It works. {sentence}", f'a = "It works. {sentence}"']
    text = "\n".join([*lines, f'b = f"{{a}}: it works. {sentence}"']) + "\n"
    assert [(hit.line, hit.hint) for hit in hits(MODULE, text)] == [(line, hint) for line in range(1, 5)]


def test_prose_ignores_code_when_it_is_in_backticks_or_a_block() -> None:
    """Fenced blocks of both kinds, indented blocks and spans may contain any word; the text after them may not."""
    code = "`stands` is a name.\n\n```\nnobody stands\n```\n\n~~~ text\nnobody stands\n~~~\n\n    nobody stands\n"
    assert hits(PAGE, code) == []
    assert [hit.line for hit in hits(PAGE, f"{code}\nNobody asks.\n")] == [13]


def test_prose_ignores_names_when_they_contain_a_pattern() -> None:
    """A pattern matches words of sentences, never identifiers, paths, or strings without a blank."""
    assert hits(MODULE, 'going_on = likewise = "nobody"\n') == []
    assert hits(MODULE, "# The flag understands_nobody of docs/nobody.md and --nobody is valid.\n") == []


@pytest.mark.parametrize("word", ["What", "Who", "Whom", "Whose", "Whether", "Of", "For", "Where", "How"])
def test_prose_finds_an_opening_clause_when_a_docstring_has_one(word: str) -> None:
    """Docstrings of modules, classes and functions are checked; words that only begin like one are not."""
    docstring = f'"""{word} it is."""'
    text = f"{docstring}\n\n\nclass A:\n    {docstring}\n\n    async def b(self):\n        {docstring}\n"
    assert [(hit.line, hit.text) for hit in hits(MODULE, text)] == [(1, word), (5, word), (8, word)]
    assert hits(MODULE, f'"""{word}ly named text, not {word.lower()} it opens."""\n') == []


def test_prose_checks_code_and_pages_when_no_file_is_named() -> None:
    """Generated code, recorded data and the check's own examples are excepted."""
    files = {str(file) for file in tracked()}
    assert {"README.md", "tests/conftest.py", "graph/view.py"} <= files
    assert not any("_pb2" in file or file.startswith("tests/fixtures/") for file in files)
    assert not files & {"tests/lint/prose.py", "tests/unit/test_prose.py"}


@pytest.mark.parametrize(
    "definition",
    ["said = 1", "self._told = 1", "def away(): ...", "shelf: int = 1", "def f(here): ...", "for wish in (): ..."],
)
@pytest.mark.parametrize("file", ["graph/module.py", "tests/unit/test_module.py"])
def test_dialect_in_names_is_found(definition: str, file: str) -> None:
    """A definition of a banned name is found in the package and in tests, with underscores, too."""
    hits = list(hits_in(Path(file), f'"""A module."""\n{definition}\n'))
    assert [hit.line for hit in hits] == [2]
