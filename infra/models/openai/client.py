"""The HTTP client of a model endpoint."""

from __future__ import annotations

import os
from functools import cache
from ssl import SSLContext

import httpx2
import openai


def client_of(base_url: str, api_key: str, timeout_s: float) -> openai.AsyncOpenAI:
    """Return a client that repeats no call: the rate limiter decides about that. The caller closes it."""
    trust = _trust(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return openai.AsyncOpenAI(
        base_url=base_url,
        api_key=api_key or "none",  # the client requires a key; local servers ignore it
        timeout=timeout_s,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(verify=trust, timeout=timeout_s),
    )


@cache
def _trust(_file: str | None, _folder: str | None) -> SSLContext:
    """Return the certificate authorities that the environment names, by default those of the system.

    The clients of a process share them: reading them takes some 20 ms of CPU for each.
    """
    return httpx2.create_ssl_context()
