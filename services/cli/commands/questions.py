"""The commands `graphtide questions put|list|get|delete|watch` on standing questions."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlencode

import typer

from graphtide.services.cli.asking.filters import HELP, filters_of
from graphtide.services.cli.asking.options import OPTION_HELP, options_from
from graphtide.services.cli.parameters import GRAPH, URL, AsJson, Graph, Url, client_of
from graphtide.services.cli.terminal import console, result, tell

if TYPE_CHECKING:
    from graphtide.services.cli.client import Json

app = typer.Typer(
    no_args_is_help=True,
    help="Standing questions: register questions, and report every change of their evidence.",
)


QuestionId = Annotated[str, typer.Argument(metavar="ID", help="The question's id.")]


@app.command()
def put(  # noqa: PLR0913, PLR0917 -- the options of a command are its parameters
    question_id: QuestionId,
    question: Annotated[str, typer.Argument(help="The question.")],
    graph: Graph = GRAPH,
    mode: Annotated[str, typer.Option(help="The retrieval mode: vector, local, passages or bridge.")] = "local",
    top_k: Annotated[int, typer.Option(help="The number of passages.")] = 5,
    as_of: Annotated[str, typer.Option(help="A date: exclude facts that are known to be invalid at it.")] = "",
    filters: Annotated[list[str] | None, typer.Option("--filter", metavar="NAME=VALUE", help=HELP)] = None,
    options: Annotated[list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help=OPTION_HELP)] = None,
    answer: Annotated[bool, typer.Option("--answer", help="Write an answer at every event.")] = False,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Register a question, or replace it, and print its evidence."""
    from graphtide.services.cli.commands import question_views as show

    body: Json = {"question": question, "mode": mode, "top_k": top_k}
    body |= ({"as_of": as_of} if as_of else {}) | ({"answer": True} if answer else {})
    body |= {"filters": filters_of(filters)} if filters else {}
    body |= {"options": options_from(options)} if options else {}
    with client_of(url) as client:
        found = client.send("PUT", _path(graph, question_id), json.dumps(body).encode(), "application/json")
    result(found, as_json, show.question)


@app.command()
def get(question_id: QuestionId, graph: Graph = GRAPH, url: Url = URL, as_json: AsJson = False) -> None:
    """Print a question with its evidence, its answer, and when it last changed."""
    from graphtide.services.cli.commands import question_views as show

    with client_of(url) as client:
        result(client.get(_path(graph, question_id)), as_json, show.question)


@app.command("list")
def list_questions(
    graph: Graph = GRAPH,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The maximum number of questions.")] = 100,
    cursor: Annotated[str, typer.Option(help="The `next` of the previous page.")] = "",
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """List the questions of a graph by id."""
    from graphtide.services.cli.commands import question_views as show

    asked = urlencode({"limit": limit} | ({"cursor": cursor} if cursor else {}))
    with client_of(url) as client:
        result(client.get(f"{_path(graph)}?{asked}"), as_json, show.questions)


@app.command()
def delete(question_id: QuestionId, graph: Graph = GRAPH, url: Url = URL) -> None:
    """Delete a question with its events."""
    with client_of(url) as client:
        client.remove(_path(graph, question_id))
    tell(f"question {question_id} is deleted")


@app.command()
def watch(
    question_id: QuestionId,
    graph: Graph = GRAPH,
    after: Annotated[str, typer.Option(help="The seq or the token of the last event that is known.")] = "",
    count: Annotated[int, typer.Option(min=0, help="Exit after so many events; 0: run until Ctrl-C.")] = 0,
    url: Url = URL,
    as_json: AsJson = False,
) -> None:
    """Print the changes of a question's evidence as they occur, each once; with --json one line each."""
    from graphtide.services.cli.commands import question_views as show

    seen = 0
    with client_of(url) as client:
        for event in client.follow(f"{_path(graph, question_id)}/events", after):
            if as_json:
                sys.stdout.write(json.dumps(event, ensure_ascii=False) + "\n")
                sys.stdout.flush()
            else:
                show.event(console(), event)
            seen += 1
            if seen == count:
                return


def _path(graph: str, question_id: str = "") -> str:
    from graphtide.services.cli.client import graph_path

    return f"{graph_path(graph)}/questions" + (f"/{quote(question_id, safe='')}" if question_id else "")
