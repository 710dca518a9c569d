"""Answers that follow edits and deletions, in your own process: no service, no account.

    python examples/edits.py

prints

    Who signed the contract for the boiler?
      Ana Ruiz signed the contract for the boiler. [1]  boiler
    after an edit:
      Kenji Mori signed the contract for the boiler. [1]  boiler
    after a deletion:
      (no answer)
"""

from __future__ import annotations

import tempfile

import graphtide
import graphtide.sync

QUESTION = "Who signed the contract for the boiler?"


def show(answer: graphtide.Answer) -> None:
    sources = " ".join(dict.fromkeys(citation.doc_id for citation in answer.citations))
    print(f"  {answer.answer}  {sources}" if sources else "  (no answer)")


with tempfile.TemporaryDirectory() as folder, graphtide.sync.open(folder) as db:
    notes = db.graph("notes", read_your_writes=True)  # each question waits for what was written before it
    notes.add("boiler", "The boiler was replaced in March. Ana Ruiz signed the contract for the boiler.")
    print(QUESTION)
    show(notes.ask(QUESTION))

    notes.add("boiler", "The boiler was replaced in March. Kenji Mori signed the contract for the boiler.")
    print("after an edit:")
    show(notes.ask(QUESTION))

    notes.delete("boiler")
    print("after a deletion:")
    show(notes.ask(QUESTION))
