"""Code of documents in answers: it comes with the passage before it, also where that passage alone was found."""

from __future__ import annotations

from pathlib import Path

import graphtide

GUIDE = """# Client

## Certificates

You can turn off the verification of certificates like this:

```python
client = Client(verify=False)
```

## Pools

A pool keeps connections.
"""
OTHERS = 320
"""More documents than the passages that are read of a small graph."""


async def test_code_is_quoted_after_its_instruction_with_a_citation_of_its_own(tmp_path: Path) -> None:
    """In a graph so large that the code, which shares no word with the question, is found by its place alone."""
    async with graphtide.open(tmp_path, settings={"answer_model": "rules"}) as db:
        graph = db.graph("g")
        await graph.add_many(
            [{"id": f"n{n}", "text": f"The certificates of room {n} are in box {n}."} for n in range(OTHERS)]
        )
        receipt = await graph.add("guide.md", GUIDE, media_type="text/markdown")
        answer = await graph.ask("How do I turn off the verification of certificates?", after=receipt.token)
        first, second = answer.citations
        assert answer.answer == (
            f"You can turn off the verification of certificates like this: [{first.number}]\n"
            f"\n    client = Client(verify=False)\n\n[{second.number}]"
        )
        assert (second.doc_id, second.quote) == ("guide.md", "client = Client(verify=False)")
        receipt = await graph.delete("guide.md")
        gone = await graph.ask("How do I turn off the verification of certificates?", after=receipt.token)
        assert "Client(" not in gone.answer
