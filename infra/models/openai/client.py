"""The HTTP client of a model endpoint."""

from __future__ import annotations

import openai


def client_of(base_url: str, api_key: str, timeout_s: float) -> openai.AsyncOpenAI:
    """Return a client that repeats no call: the rate limiter decides about that. The caller closes it."""
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",  # the client requires a key; local servers ignore it
        timeout=timeout_s,
        max_retries=0,
    )
