"""Rendering of results as text, tables and citations; unused with --json.

The invariant: content of documents is printed as text, never interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from graphtide.services.cli.client import Json
from graphtide.services.cli.publish import progress_text

_SHOWN_CHARS = 280
_SHOWN_ITEMS = 5


def answer(console: Console, body: Json, with_text: bool) -> None:
    """Print an answer with its citations, the passages when it cites none, and the trace if present."""
    if with_text and body["answer"]:
        console.print(Text(body["answer"]), soft_wrap=not console.is_terminal)
    _sources(console, body)
    usage = body["usage"]
    tokens = usage["prompt_tokens"] + usage["completion_tokens"]
    summary = f"\nmode {body['mode']}, version {body['version']}, {usage['llm_calls']} model calls, {tokens} tokens"
    summary += f", cost {usage['cost']:.6f}" if "cost" in usage else ""
    console.print(Text(summary, "dim"))
    for step in body.get("trace") or ():
        _step(console, step)


def _sources(console: Console, body: Json) -> None:
    """Print the cited passages, or all; a number is a passage's position among all, as in the answer.

    Scores are not shown: the mode defines them, and they tell nothing about whether a passage answers.
    """
    if not body["passages"]:
        console.print(Text("No passage matches the question.", "yellow"))
    elif body["answer"] and not body["citations"]:
        console.print(Text("\nThe passages nearest to the question:", "dim"))
    cited: dict[str, list[Json]] = {}
    for each in body["citations"]:
        cited.setdefault(each["chunk_id"], []).append(each)
    for number, each in enumerate(body["passages"], start=1):
        quoted = cited.get(each["chunk_id"], [])
        if cited and not quoted:
            continue
        where = _where(each, quoted)
        console.print(Text.assemble((f"\n[{number}] ", "bold cyan"), (each["doc_id"], "bold"), (where, "dim")))
        console.print(Padding(Text(_excerpt(each["text"], quoted), "dim"), (0, 0, 0, 4)))


def _excerpt(text: str, quoted: Sequence[Json]) -> str:
    """Return the beginning of a passage; from its first quotation on, where that ends beyond what is shown."""
    start, end = min(((each.get("start", 0), each.get("end", 0)) for each in quoted), default=(0, 0))
    return _short(text) if end <= _SHOWN_CHARS else _short(f"… {text[start:]}")


def _where(passage: Json, quoted: Sequence[Json]) -> str:
    """Return the title of a passage's document, its headings, its page, and the rows that are quoted, or the first one
    where none is; each as far as it is known.
    """
    place = passage.get("place") or {}
    title = passage.get("title", "")
    parts = [" > ".join(filter(None, (title if title != passage["doc_id"] else "", *place.get("headings", ()))))]
    parts += [f"page {place['page']}"] if place.get("page") else []
    rows = sorted({row for each in quoted or [passage] if (row := (each.get("place") or {}).get("row"))})
    parts += [f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"] if rows else []
    shown = ", ".join(filter(None, parts))
    return f"  {_short(shown, 120)}" if shown else ""


def _step(console: Console, step: Json) -> None:
    """Print one step of a trace: the action, and its best results."""
    plain = {name: value for name, value in step.items() if name != "items"}
    console.print(Text("· " + ": ".join(map(_one_line, plain.values())), "dim"))
    for item in (step.get("items") or ())[:_SHOWN_ITEMS]:
        name, score = item.get("name") or item.get("id") or _one_line(item), item.get("score")
        console.print(Text(f"    {score:8.3f}  {name}" if isinstance(score, float) else f"    {name}", "dim"))


def published(console: Console, body: Json) -> None:
    """Print the outcome of a publish."""
    states = f", {_one_line(body['states'])}" if "states" in body else ""
    console.print(f"{body['accepted']} accepted, {len(body['rejected'])} rejected{states}")
    if body["token"]:
        console.print(Text(f"token {body['token']}", "dim"))


def fields(console: Console, body: Json) -> None:
    """Print a table of names and values; nested values take one line each."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in body.items():
        if value in ("", None, {}, []):
            continue
        table.add_row(Text(name), Text(_short(_one_line(value), 2000)))
    console.print(table)


def standing(console: Console, body: Json) -> None:
    """Print the state of a process in a sentence, then by component."""
    from graphtide.services.cli.status import outlook
    from graphtide.services.doctor.running import components_of

    ready = bool(body.get("ready"))
    sentence = outlook(ready, components_of(body))
    console.print(Text.assemble(f"{body['url']}: ", (sentence, "bold green" if ready else "bold red")), soft_wrap=True)
    table = Table("component", "role", "state", "what to do", box=None, pad_edge=False)
    for row in body["explained"]:
        style = "yellow" if row["action"] else ""
        table.add_row(
            Text(row["component"], "bold"), Text(row["role"], "dim"), Text(row["state"], style), Text(row["action"])
        )
    console.print(table)


def document(console: Console, body: Json) -> None:
    """Print the state of a document, and its facts."""
    shown = {name: value for name, value in body.items() if name not in ("facts", "progress")}
    progress = body.get("progress")
    fields(console, shown | ({"progress": progress_text(progress)} if progress else {}))
    for fact in body["facts"]:
        console.print(Text(f"  {fact['subject']} — {fact['predicate']} — {fact['object']}"))


def related(console: Console, body: Json) -> None:
    """Print the documents related to one, and the entities they share."""
    table = Table("score", "document", "title", "both mention", box=None, pad_edge=False)
    for each in body["documents"]:
        table.add_row(f"{each['score']:.2f}", *map(Text, (each["doc_id"], each["title"], ", ".join(each["entities"]))))
    console.print(table if body["documents"] else Text("No other document is related to it."))


def graphs(console: Console, body: Json) -> None:
    """Print the graphs and their versions."""
    table = Table("graph", "version", box=None, pad_edge=False)
    for each in body["graphs"]:
        table.add_row(Text(each["graph"]), str(each["version"]))
    console.print(table if body["graphs"] else Text("No graph exists yet; publish a document to create one."))


def keys(console: Console, body: Json) -> None:
    """Print the API keys with their grants."""
    table = Table("name", "graphs", "actions", "expires", "limits", box=None, pad_edge=False)
    for each in body["keys"]:
        limits = [f"{each[name]:g} {name}" for name in ("requests_per_second", "max_body_bytes") if name in each]
        shown = (each["name"], ", ".join(each["graphs"]), ", ".join(each["actions"]), each.get("expires", "never"))
        table.add_row(*map(Text, (*shown, ", ".join(limits))))
    console.print(table)


def findings(console: Console, body: Json) -> None:
    """Print the findings of the doctor: problem, consequence and remedy; the serious ones first."""
    for each in sorted(body["findings"], key=lambda finding: not finding["serious"]):
        mark = ("✗ ", "bold red") if each["serious"] else ("· ", "yellow")
        console.print(Text.assemble(mark, (f"{each['about']}: ", "bold"), each["what"]), soft_wrap=True)
        console.print(Text(f"    {each['why']}", "dim"), soft_wrap=True)
        console.print(Text(f"    → {each['cure']}"), soft_wrap=True)
    if not body["findings"]:
        console.print(Text("No problems found."))
    console.print(Text(f"checked: {', '.join(body['looked_at'])}", "dim"), soft_wrap=True)


def topics(console: Console, body: Json) -> None:
    """Print the topics, then the changes that were made, are planned, or need the operator."""
    table = Table("topic", "partitions", "replicas", box=None, pad_edge=False)
    for each in body["topics"]:
        table.add_row(
            Text(each["topic"]), str(each["partitions"]) if each["partitions"] else "-", str(each["replicas"])
        )
    console.print(table)
    for each in body["topics"]:
        for field, label in (("done", "done"), ("to_do", "to do"), ("by_hand", "by hand")):
            for line in each.get(field, ()):
                console.print(Text(f"{each['topic']}: {label}: {line}"), soft_wrap=True)


def letters(console: Console, body: Json) -> None:
    """Print dead letters, one per line, and the option for the next page."""
    table = Table("id", "document", "stage", "dead-lettered", "bytes", "resolution", "reason", box=None, pad_edge=False)
    for each in body["letters"]:
        shown = (each["id"], each["doc_id"], each["stage"], each["buried_at"], str(each["size_bytes"]))
        table.add_row(
            *(
                Text(_short(value, 80))
                for value in (*shown, each.get("resolution", each.get("settled", "")), each["reason"])
            )
        )
    console.print(table if body["letters"] else Text("There are no dead letters."))
    if body["next"]:
        console.print(Text(f"For the next page, add --after {body['next']}", "dim"))


def letter(console: Console, body: Json) -> None:
    """Print a dead letter; its content comes last, as text with unprintable characters escaped."""
    fields(console, {name: value for name, value in body.items() if name not in ("text", "original")})
    if body["text"]:
        console.print(Text(f"\n{body['text']}"), soft_wrap=True)


def _one_line(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_one_line(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(map(_one_line, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _short(text: str, limit: int = _SHOWN_CHARS) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
