"""The rendering of answers on a terminal."""

from __future__ import annotations

import io

from rich.console import Console

from graphtide.services.cli import render as show
from graphtide.services.cli.client import Json


def _shown(body: Json) -> str:
    console = Console(file=io.StringIO(), width=80, markup=False, highlight=False, emoji=False)
    show.answer(console, body, with_text=True)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def _body(answer: str, cited: tuple[int, ...]) -> Json:
    passages = [{"doc_id": f"d{at}", "chunk_id": f"c{at}", "score": 0.5, "text": f"Text {at}."} for at in range(3)]
    usage = {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    citations = [{name: passages[at][name] for name in ("doc_id", "chunk_id", "text")} for at in cited]
    body = {"answer": answer, "citations": citations, "passages": passages}
    return {**body, "mode": "local", "version": 1, "usage": usage}


def test_answer_numbers_its_sources_as_its_text_does() -> None:
    """`[3]` is the third passage, also when nothing else is cited."""
    shown = _shown(_body("It is so. [3]", (2,)))
    assert "[3] d2" in shown
    assert "d0" not in shown


def test_answer_shows_the_passages_when_it_cites_none() -> None:
    """Found passages are always shown; "no passage" appears only without any."""
    shown = _shown(_body("Nothing in the documents answers this.", ()))
    assert [f"[{number}] d{number - 1}" in shown for number in (1, 2, 3)] == [True] * 3
    assert "No passage" not in shown
    assert "No passage matches" in _shown({**_body("", ()), "passages": []})


def test_answer_is_not_broken_into_lines_when_it_goes_to_a_file() -> None:
    """A reader of piped output searches for adjacent words, so no line is wrapped."""
    sentence = "word " * 40 + "end. [1]"
    assert sentence in _shown(_body(sentence, (0,)))


def test_answer_names_the_rows_that_it_quotes() -> None:
    """A passage of a table holds several rows; the first one may say nothing of the answer."""
    body = _body("Bo and Cy. [1]", (0, 0))
    body["passages"][0]["place"] = {"kind": "table", "row": 1}
    for citation, row in zip(body["citations"], (7, 3), strict=True):
        citation["place"] = {"kind": "table", "row": row}
    assert "[1] d0  rows 3, 7\n" in _shown(body)
    del body["citations"][1]
    assert "[1] d0  row 7\n" in _shown(body)


def test_answer_shows_its_quotation_wherever_it_is_in_the_passage() -> None:
    """A passage of a table is longer than what is shown of it."""
    body, row = _body("Cy sails. [1]", (0,)), "name: Cy; deed: sails"
    text = "name: Bo; deed: rows\n\n" * 40 + row
    body["passages"][0]["text"] = text
    body["citations"][0] |= {"start": text.index(row), "end": len(text)}
    assert row in _shown(body) and "Bo" not in _shown(body)
    body["citations"][0] |= {"start": 0, "end": 20}
    assert "name: Bo" in _shown(body) and row not in _shown(body)
