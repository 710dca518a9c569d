"""The clients of model endpoints."""

from __future__ import annotations

from ssl import SSLContext

import httpx2
import pytest

from graphtide.infra.models.openai import client
from graphtide.infra.models.openai.client import client_of


async def test_clients_read_the_certificate_authorities_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read once in a process, and again only where the environment names others."""
    read: list[SSLContext] = []
    create = httpx2.create_ssl_context

    def created() -> SSLContext:
        read.append(create())
        return read[-1]

    monkeypatch.setattr(httpx2, "create_ssl_context", created)
    client._trust.cache_clear()
    try:
        for folder in ("/etc/ssl/certs", "/etc/ssl/certs", "/etc/ssl"):
            monkeypatch.setenv("SSL_CERT_DIR", folder)
            made = client_of("https://models.example/v1", "key", 5.0)
            await made.close()
            assert made.timeout == 5.0 and made.max_retries == 0 and made.is_closed()
        assert len(read) == 2
    finally:
        client._trust.cache_clear()
