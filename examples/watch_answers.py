"""A question that reports by itself when documents change its evidence.

    graphtide serve                        # in another terminal
    python examples/watch_answers.py

prints

    now: A storm closed the harbour of Port Amsel on Monday.
    forecast says: The harbour of Port Amsel opens again on Thursday.
    forecast says: The harbour of Port Amsel opens again on Saturday.
"""

from __future__ import annotations

import asyncio
import os

import graphtide

QUESTION = "When does the harbour of Port Amsel open again?"
NEWS = [
    ("forecast", "The harbour of Port Amsel opens again on Thursday."),
    ("recipe", "Boil two litres of water, then add the noodles."),  # changes no evidence: nothing is reported
    ("forecast", "The harbour of Port Amsel opens again on Saturday."),
]


async def main() -> None:
    url, key = os.environ.get("GRAPHTIDE_URL", "http://127.0.0.1:8080"), os.environ.get("GRAPHTIDE_API_KEY", "")
    async with graphtide.connect(url, api_key=key) as db:
        news = db.graph("news", read_your_writes=True)
        await news.add("storm", "A storm closed the harbour of Port Amsel on Monday.")
        question = await news.questions.put("harbour", QUESTION, top_k=2)
        print("now:", *(item.text for item in question.passages))
        publishing = asyncio.create_task(publish(news))
        async for event in news.questions.watch("harbour", after=question.seq):
            for item in event.entered:
                print(f"{item.doc_id} says: {item.text}")
            if any("Saturday" in item.text for item in event.entered):
                break
        await publishing


async def publish(news: graphtide.Graph) -> None:
    for doc_id, text in NEWS:
        receipt = await news.add(doc_id, text)
        await news.wait(receipt.token)


asyncio.run(main())
