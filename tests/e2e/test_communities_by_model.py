"""Mode `da-rag` with a language model: it reads, rates and writes the reports of a question's communities."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from graphtide.infra.settings import Settings
from graphtide.services.application import QueryRequest
from graphtide.services.wiring import open_application
from tests.e2e.test_themes import filled, has_word
from tests.support.llm_server import LlmServer, Seen

QUESTION = "Who founded Kittiwake Station?"


async def test_model_reads_rates_and_writes_each_community_once(tmp_path: Path) -> None:
    """Parts are its reports, packed by its rating, without those rated 0; the bill has all calls; a repetition none."""
    ratings: Counter[str] = Counter()

    def says(seen: Seen) -> str | None:
        if not has_word(seen, "helpfulness"):
            return None
        rating = (0, 40, 90)[len(ratings) % 3]
        answer = "" if not rating else f"Report {len(ratings)} of the model [1]."
        ratings[answer or str(len(ratings))] = rating
        return json.dumps({"answer": answer, "helpfulness": rating})

    with LlmServer() as server:
        settings = Settings(data=tmp_path, llm_base_url=server.base_url, llm_model="m", lazy_reports=True)
        async with open_application(settings) as application:
            await filled(application)
            server.seen.clear()
            server.says = says
            first = await application.query("g", QueryRequest(QUESTION, mode="da-rag", explain=True))
            calls = list(server.seen)
            again = await application.query("g", QueryRequest(QUESTION, mode="da-rag"))
            structure = await application.query("g", QueryRequest(QUESTION, mode="da-rag", generate=False))
            repeated = server.seen[len(calls) :]
    read = [seen for seen in calls if has_word(seen, "helpfulness")]
    assert len(read) == len(ratings) >= 3
    assert any("passage" not in seen.asked.partition(">")[0] for seen in read)
    texts = [part.text for part in first.context_parts]
    assert texts and set(texts) <= {text for text, rating in ratings.items() if rating}
    scores = [part.score for part in first.context_parts]
    assert scores == sorted(scores, reverse=True) and set(scores) <= {0.4, 0.9}
    assert first.usage.llm_calls == len(calls)
    assert first.usage.prompt_tokens == sum(seen.prompt_tokens for seen in calls)
    assert again.context_parts == first.context_parts
    assert not any(has_word(seen, "helpfulness") for seen in repeated)
    assert not any("of the model" in part.text for part in structure.context_parts)
    assert structure.usage.llm_calls == 0


async def test_reports_of_deleted_passages_are_read_anew(tmp_path: Path) -> None:
    """After a deletion no report cites a deleted passage, and the communities that changed are read again."""
    with LlmServer() as server:
        settings = Settings(data=tmp_path, llm_base_url=server.base_url, llm_model="m")
        async with open_application(settings) as application:
            await filled(application)
            first = await application.query("g", QueryRequest(QUESTION, mode="da-rag"))
            cited = {source for part in first.context_parts for source in part.sources}
            gone = sorted(source.split("#")[0] for source in cited)[0]
            receipt = await application.delete("g", gone)
            after = await application.query(
                "g", QueryRequest(QUESTION, mode="da-rag", after=receipt.token, timeout_s=120)
            )
    sources = {source.split("#")[0] for part in after.context_parts for source in part.sources}
    assert cited and gone not in sources
    assert gone not in {passage.doc_id for passage in after.passages}
