"""Counters start at 0: a scrape before the first increment has the series."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from graphtide.infra.models.usage.accounting import Tokens, UsageAccounting
from graphtide.infra.models.usage.counters import REASONS, Tally
from graphtide.infra.observability.metrics.stages import ENDS, Metrics
from graphtide.streams.ports import RevisionState
from graphtide.streams.usage import BillingContext, Stage, paid_by


def lines(registry: CollectorRegistry) -> set[str]:
    """Return the samples of an exposition."""
    return set(generate_latest(registry).decode().splitlines())


def test_counters_of_a_stage_begin_at_zero_with_the_process() -> None:
    """Only the stages that the process runs have counters."""
    registry = CollectorRegistry()
    Metrics(registry, ("extract",))
    shown = lines(registry)
    assert 'graphtide_retries_total{stage="extract"} 0.0' in shown
    assert 'graphtide_stage_seconds_count{stage="extract"} 0.0' in shown
    assert 'graphtide_stage_stopped{stage="extract"} 0.0' in shown
    assert not [line for line in shown if 'stage="consolidate"' in line]


def test_counters_of_a_graph_begin_at_zero_when_it_is_seen() -> None:
    """Reading the backlog is enough; the first dead letter of a known graph is a step from 0 to 1."""
    registry = CollectorRegistry()
    metrics = Metrics(registry, ("extract", "consolidate", "summarize"))
    metrics.waiting("g", 0)
    shown = lines(registry)
    for state in ENDS:
        assert f'graphtide_revisions_total{{graph="g",state="{state}"}} 0.0' in shown
    assert 'graphtide_graph_changes_total{change="removed",graph="g",kind="same-as"} 0.0' in shown
    assert 'graphtide_kernel_work_total{graph="g",kind="triangles"} 0.0' in shown
    assert 'graphtide_records_forwarded_total{graph="g"} 0.0' in shown
    metrics.ended("g", RevisionState.FAILED)
    assert 'graphtide_revisions_total{graph="g",state="failed"} 1.0' in lines(registry)


def test_counters_of_questions_begin_at_zero_with_the_first_of_a_mode() -> None:
    """All possible outcomes of a question have a series while it is answered."""
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    with metrics.asking("g", "local"):
        shown = lines(registry)
    for status in ("answered", "Retryable", "Overloaded"):
        assert f'graphtide_queries_total{{graph="g",mode="local",status="{status}"}} 0.0' in shown
    assert not [line for line in shown if line.startswith("graphtide_revisions_total{")]


async def test_counters_of_calls_begin_at_zero_before_the_first_is_settled() -> None:
    """Dropped items start with the process; calls, tokens and cost of a graph before its call; graphs are bounded."""
    registry = CollectorRegistry()
    accounts = UsageAccounting(tally=Tally(registry))
    for reason in REASONS:
        assert f'graphtide_extraction_items_dropped_total{{reason="{reason}"}} 0.0' in lines(registry)
    with paid_by(BillingContext("g")):
        async with accounts.call(Stage.EXTRACT, "m", Tokens(5, 5)):
            shown = lines(registry)
    assert 'graphtide_llm_calls_total{graph="g",stage="extract"} 0.0' in shown
    assert 'graphtide_llm_tokens_total{graph="g",kind="completion",stage="extract"} 0.0' in shown
    assert 'graphtide_budget_paused_total{graph="g"} 0.0' in shown
    for number in range(300):
        with paid_by(BillingContext(f"g{number}")):
            async with accounts.call(Stage.EXTRACT, "m", Tokens(5, 5)):
                pass
    graphs = [line for line in lines(registry) if line.startswith("graphtide_llm_calls_total{")]
    assert len(graphs) == 201
