"""The blocking twins of `graphtide`, for programs without an event loop: `graphtide.sync.open` and `.connect`.

with graphtide.sync.open("data") as db:
    notes = db.graph("notes")
    receipt = notes.add("boiler", "Ana Ruiz signed the contract.")
    print(notes.ask("Who signed?", after=receipt.token).answer)
"""

from graphtide.services.sdk.blocking import Database, Graph
from graphtide.services.sdk.blocking import connect_blocking as connect
from graphtide.services.sdk.blocking import open_blocking as open  # noqa: A004 - the twin of `graphtide.open`

__all__ = ["Database", "Graph", "connect", "open"]
