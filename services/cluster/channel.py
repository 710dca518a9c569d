"""The gRPC channel to the query replicas, replaced when its TLS files change.

`remote_application.py` makes the calls. The invariants: a call ends on the channel on which it began; unusable files
change nothing and are logged.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import grpc
import grpc.aio

from graphtide.infra.private_files import READERS
from graphtide.infra.settings import Settings
from graphtide.services.access.reloading import Watched, read_bytes
from graphtide.services.cluster.graph_routing import graph_interceptors, service_config
from graphtide.streams.errors import Broken

LEAVE_S = 3600.0
"""Grace period of a replaced channel: the longest call that may be in progress on it."""
_OPTIONS = (
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 5_000),
)


class QueryChannel:
    """The current channel to the query replicas; created by `query_channel`."""

    def __init__(self, settings: Settings) -> None:
        self._address, self._factor = settings.query_target, settings.replication_factor
        self._options = (("grpc.service_config", service_config(self._factor)), *_OPTIONS)
        files = _files(settings)
        self._watched = Watched(files, lambda: _credentials(*files)) if files else None
        self._credentials = self._watched.value() if self._watched else None
        self._channel = self._open()
        self._leaving: set[asyncio.Task[None]] = set()

    def channel(self) -> grpc.aio.Channel:
        """Return the channel for the next call. Cost: one stat per TLS file."""
        newest = self._watched.value() if self._watched else None
        if newest is not self._credentials:
            old, self._credentials = self._channel, newest
            self._channel = self._open()
            leaving = asyncio.create_task(old.close(LEAVE_S))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)
        return self._channel

    async def close(self) -> None:
        """Close the channels; cancel the calls in progress."""
        for leaving in list(self._leaving):
            leaving.cancel()
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self._channel.close()

    def _open(self) -> grpc.aio.Channel:
        interceptors = graph_interceptors(self._factor)
        if self._credentials is None:
            return grpc.aio.insecure_channel(self._address, self._options, interceptors=interceptors)
        return grpc.aio.secure_channel(self._address, self._credentials, self._options, interceptors=interceptors)


@asynccontextmanager
async def query_channel(settings: Settings) -> AsyncIterator[QueryChannel]:
    """Open a channel to the address in the settings, with TLS if they name the CA of the replicas' certificates.

    This process presents its own certificate, if it has one. Raises Broken for unusable files.
    """
    channel = QueryChannel(settings)
    try:
        yield channel
    finally:
        await channel.close()


def _files(settings: Settings) -> tuple[Path, ...]:
    """Return the CA file, and this process's certificate and key if both are set."""
    if not settings.query_ca_file:
        return ()
    own = (settings.tls_cert_file, settings.tls_key_file)
    return tuple(map(Path, (settings.query_ca_file, *(own if all(own) else ()))))


def _credentials(authority: Path, certificate: Path | None = None, key: Path | None = None) -> grpc.ChannelCredentials:
    given = ((authority, 0), (key, READERS), (certificate, 0))
    read = [read_bytes(file, forbidden) if file else None for file, forbidden in given]
    try:
        context = ssl.create_default_context(cafile=authority)
        if certificate and key:
            context.load_cert_chain(certificate, key)
    except OSError as error:
        reason = error.strerror or getattr(error, "reason", None) or type(error).__name__
        named = ", ".join(str(file) for file in (authority, certificate, key) if file)
        raise Broken(f"TLS to the query replicas cannot be set up from {named}: {reason}") from None
    return grpc.ssl_channel_credentials(*read)
