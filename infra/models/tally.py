"""What language models were asked and what it cost, counted for Prometheus. Labels are bounded by the code.

Not the bill: an endpoint that reports no usage is counted roughly, and what it refused is not counted.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter


class Tally:
    """Counters of calls, tokens and of what was found in answers and left out."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        registry = registry or CollectorRegistry()
        self._calls = Counter(
            "graphtide_llm_calls", "Answered calls of a language model", ["purpose"], registry=registry
        )
        self._tokens = Counter(
            "graphtide_llm_tokens", "Tokens sent and received", ["purpose", "kind"], registry=registry
        )
        self._remembered = Counter(
            "graphtide_llm_remembered", "Extractions that needed no call: asked before", registry=registry
        )
        self._dropped = Counter(
            "graphtide_llm_dropped", "Parts of extractions that were left out, by why", ["reason"], registry=registry
        )

    def called(self, purpose: str, prompt_tokens: int, completion_tokens: int) -> None:
        self._calls.labels(purpose).inc()
        self._tokens.labels(purpose, "prompt").inc(prompt_tokens)
        self._tokens.labels(purpose, "completion").inc(completion_tokens)

    def remembered(self) -> None:
        self._remembered.inc()

    def dropped(self, reason: str, count: int = 1) -> None:
        self._dropped.labels(reason).inc(count)
