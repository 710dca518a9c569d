"""The command `graphtide changes`: prints the commits of a graph, and follows them."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from graphtide.services.cli.client import Client, Json, graph_path
from graphtide.services.cli.exit_codes import UNREACHABLE, USAGE, CommandError
from graphtide.services.cli.terminal import console

RESUME_S = 1.0


def changes(client: Client, graph: str, given: dict[str, str], as_json: bool) -> None:
    """Print the changes that the parameters select, one per line. Raises CommandError."""
    if given.get("follow") == "false" and not given.get("after"):
        raise CommandError("name a token with --after, or --follow the changes from now on", USAGE)
    screen = console()
    for change in _received(client, f"{graph_path(graph)}/changes", given):
        if as_json:
            sys.stdout.write(json.dumps(change, ensure_ascii=False) + "\n")
            sys.stdout.flush()
        else:
            screen.print(line(change), soft_wrap=True)


def _received(client: Client, path: str, given: dict[str, str]) -> Iterator[Json]:
    """Yield the changes. A stream that breaks is opened again after the last one."""
    after = given.get("after", "")
    while True:
        try:
            for name, ident, data in client.feed(path, given | ({"after": after} if after else {})):
                if name == "error":
                    raise CommandError(str(data["error"]["message"]))
                after = ident or after
                yield data
        except CommandError as error:
            if error.code != UNREACHABLE or not after:
                raise
        if given.get("follow") == "false":
            return
        time.sleep(RESUME_S)


def line(change: Json) -> str:
    """Return a change as one line of text."""
    if "part" in change:
        return f"{change['token']}  rows, part {change['part']} of {change['parts']}"
    parts = [f"{each['state']} {each['id']}" for each in change["documents"]]
    for kind in ("entities", "relations"):
        counts = [f"{sign}{len(change[kind][how])}" for sign, how in _SIGNS if change[kind][how]]
        parts += [f"{kind} {' '.join(counts)}"] if counts else []
    parts += [f"merged into {each['name']}" for each in change["merges"]]
    parts += [f"split {each['name']}" for each in change["splits"]]
    parts += ["the graph was rebuilt"] if change.get("rebuilt") else []
    text = f"{change['token']}  {change['committed_at']}  {'; '.join(parts)}"
    return "".join(character if character.isprintable() else " " for character in text)


_SIGNS = (("+", "added"), ("~", "changed"), ("-", "removed"))
