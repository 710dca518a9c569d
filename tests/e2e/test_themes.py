"""Questions about the whole corpus, through the service: reports rated and answered by a model, or without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.graph.records import DocumentInfo
from graphtide.infra.settings import Settings
from graphtide.services.application import AnswerChunk, Application, QueryRequest
from graphtide.services.demo import sample
from graphtide.services.wiring import open_application
from graphtide.streams.errors import NotFound, Retryable
from graphtide.streams.messages import DocumentMessage, GivenEntity, GivenFact
from tests.support.llm_server import LlmServer, Seen
from tests.support.stages import eventually


async def filled(application: Application) -> None:
    """Publish the bundled sample, and wait until questions see it."""
    documents = [
        DocumentMessage("g", one.id, one.text, DocumentInfo(one.title, one.source)) for one in sample.first_editions()
    ]
    receipt = await application.publish(documents)
    await application.query("g", QueryRequest("?", generate=False, after=receipt.token, timeout_s=120))


def has_word(seen: Seen, word: str) -> bool:
    return f'"{word}"' in seen.instructions


@pytest.mark.parametrize("mode", ["global", "global-dynamic"])
async def test_theme_is_answered_from_reports_with_citations_without_a_model(tmp_path: Path, mode: str) -> None:
    """The quotations are cited from a report's sources; every number of the answer names one of the passages."""
    async with open_application(Settings(data=tmp_path)) as application:
        await filled(application)
        answer = await application.query("g", QueryRequest("What are the main themes of these documents?", mode=mode))
    assert answer.mode == mode and not answer.mode_reason
    assert answer.context_parts and answer.citations and answer.usage.llm_calls == 0
    sources = {chunk for part in answer.context_parts for chunk in part.sources}
    shown = [passage.chunk_id for passage in answer.passages]
    assert {one.chunk_id for one in answer.citations} <= sources & set(shown)
    for one in answer.citations:
        assert f"[{shown.index(one.chunk_id) + 1}]" in answer.answer


async def test_auto_quotes_the_documents_when_no_model_writes(tmp_path: Path) -> None:
    """Quotations of reports say less than the first sentences of the documents; the reason names the other mode."""
    async with open_application(Settings(data=tmp_path)) as application:
        await filled(application)
        answer = await application.query("g", QueryRequest("What are the main themes of these documents?", mode="auto"))
    assert answer.mode == "local" and "global-dynamic" in answer.mode_reason
    assert len({one.doc_id for one in answer.citations}) > 1


async def test_minutes_are_told_by_what_was_decided_and_not_by_who_attended(tmp_path: Path) -> None:
    """A document with nothing but labelled lines is quoted by one of these."""
    minutes = "# Minutes\n\nPresent: Ada, Bob\nApologies: Cy\n\n## Decisions\n\nThe open day moves to Sunday 14 June.\n"
    report = "Pupil: Noor\n\nCause: the umbrella rack drips\n"
    async with open_application(Settings(data=tmp_path)) as application:
        documents = [
            DocumentMessage("g", name, text, DocumentInfo(name), media_type="text/markdown")
            for name, text in (("minutes", minutes), ("report", report))
        ]
        receipt = await application.publish(documents)
        answer = await application.query("g", QueryRequest("Summarise everything", after=receipt.token, timeout_s=120))
    assert "The open day moves to Sunday 14 June." in answer.answer and "Present" not in answer.answer
    assert "Noor" in answer.answer


async def test_theme_is_rated_answered_by_part_and_streamed_by_a_model(tmp_path: Path) -> None:
    """Ratings go to the cheaper model and prune; the other writes the answers; the usage has all calls."""
    with LlmServer() as server:
        settings = Settings(
            data=tmp_path, llm_base_url=server.base_url, llm_model="dear", llm_rating_model="cheap", lazy_reports=True
        )
        async with open_application(settings) as application:
            await filled(application)
            server.seen.clear()
            ask = QueryRequest(
                "What is known of the storm and of Kittiwake Station?", mode="global-dynamic", explain=True
            )
            items = [item async for item in application.stream("g", ask)]
            everything = await application.query(
                "g", QueryRequest("What are the main themes?", mode="global", generate=False)
            )
            calls = [seen for seen in server.seen if has_word(seen, "ratings") or "<text-" in seen.asked]
    first, last = items[0], items[-1]
    assert not isinstance(first, AnswerChunk) and not isinstance(last, AnswerChunk)
    assert "".join(item.text for item in items if isinstance(item, AnswerChunk)) == last.answer != ""
    rated = [seen for seen in calls if has_word(seen, "ratings")]
    assert rated and {seen.body["model"] for seen in rated} == {"cheap"}
    assert {seen.body["model"] for seen in calls if not has_word(seen, "ratings")} == {"dear"}
    assert last.usage.llm_calls == len(calls)
    assert last.usage.prompt_tokens == sum(seen.prompt_tokens for seen in calls)
    assert 0 < len(last.context_parts) < len(everything.context_parts)
    assert {one.chunk_id for one in last.citations} <= {chunk for part in last.context_parts for chunk in part.sources}
    assert last.trace and [step["step"] for step in last.trace][:3] == ["options", "reach", "rating 1"]


async def _any(application: Application) -> bool:
    return bool(await application.reports("g"))


async def test_reports_are_written_by_the_model_once_questions_wished_for_them(tmp_path: Path) -> None:
    """None is written in advance; after a question about everything the stage writes them with sources."""
    with LlmServer() as server:
        settings = Settings(data=tmp_path, llm_base_url=server.base_url, llm_model="m", lazy_reports=True)
        async with open_application(settings) as application:
            await filled(application)
            assert not await application.reports("g")
            answer = await application.query(
                "g", QueryRequest("What are the main themes?", mode="global", generate=False)
            )
            assert answer.context_parts and answer.usage.llm_calls == 0
            await eventually(lambda: _any(application))
            reports = await application.reports("g")
    assert all(report.findings and report.sources and report.title.startswith("About") for report in reports)
    assert {chunk for report in reports for one in report.findings for chunk in one.chunks} == {
        chunk for report in reports for chunk in report.sources
    }


async def test_entity_is_summarised_by_the_model_until_a_document_that_the_summary_cites_goes(tmp_path: Path) -> None:
    """Twelve documents describe Ada: one call; the same again: none; the summary is shown, also in a subgraph."""
    description = "Ada saw thing {} of the engine, " + "and noted with care what it did, " * 8 + "as {} tells."
    facts = (GivenFact("Ada", "knew", "Babbage"), GivenFact("Babbage", "built", "the Engine"))
    documents = [
        DocumentMessage(
            "g", f"d{n:02}", f"Ada knew Babbage, {n}.", entities=(_ada(description.format(n, n)),), facts=facts
        )
        for n in range(12)
    ]
    with LlmServer() as server:
        settings = Settings(data=tmp_path, llm_base_url=server.base_url, llm_model="m", lazy_reports=True)
        async with open_application(settings) as application:
            await application.publish(documents)
            await eventually(lambda: _described(application, "In short: Ada saw"))
            await application.publish(documents)
            asked = QueryRequest("Who was Ada?", mode="dynagrag", generate=False)
            parts = (await application.query("g", asked)).context_parts
            assert any("In short: Ada saw" in part.text for part in parts), parts
            await application.delete("g", "d00")
            await eventually(lambda: _described(application, "Ada saw"))
            await eventually(lambda: _described(application, "In short: Ada saw"))
            assert "thing 0 of" not in await _description(application)
            calls = [seen for seen in server.seen if seen.asked.startswith("<entity-")]
            assert len(calls) == 2 and (await application.stats("g")).spending["summarize"]["calls"] == 2
        settings = settings.model_copy(update={"entity_summaries": False, "data": tmp_path / "off"})
        async with open_application(settings) as application:
            receipt = await application.publish(documents)
            await application.query("g", QueryRequest("?", generate=False, after=receipt.token, timeout_s=120))
            assert (await _description(application)).startswith("Ada saw thing 0")


def _ada(description: str) -> GivenEntity:
    return GivenEntity("Ada", "person", description)


async def _description(application: Application) -> str:
    answer = await application.query("g", QueryRequest("Ada", generate=False))
    [node] = [node for node in answer.nodes if node.name == "Ada"]
    return (await application.entity("g", node.id)).description


async def _described(application: Application, start: str) -> bool:
    try:
        return (await _description(application)).startswith(start)
    except (NotFound, Retryable, ValueError):  # not written yet
        return False
