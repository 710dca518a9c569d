"""The command `graphtide ui`: check that a service has a page, and open it in the browser.

The invariant: the address holds no credential; the page asks for it.
"""

from __future__ import annotations

import webbrowser
from urllib.parse import quote

from graphtide.services.cli.client import Client
from graphtide.services.cli.connection import Connection
from graphtide.services.cli.exit_codes import CommandError
from graphtide.services.cli.terminal import tell

TIMEOUT_S = 10.0


def open_page(url: str, graph: str, connection: Connection, *, print_only: bool) -> str:
    """Open the page of the service and return its address. Raises CommandError without a service or a page."""
    with Client(url, tell, timeout_s=TIMEOUT_S, connection=connection) as client:
        if not client.has_page():
            raise CommandError(f"{client.url} serves no page; set GRAPHTIDE_PAGE=true where it runs")
    address = f"{client.url}/" + (f"#/{quote(graph, safe='')}/ask" if graph else "")
    if not print_only and not webbrowser.open(address):
        tell("no browser was found on this machine; open this address in one:")
    return address
