"""Method, peer and metadata of a gRPC call, read once from its context at the start.

grpcio frees a call when its task ends, and `context.peer()` then dereferences the freed call: the process dies. The
invariant: no other code of the service reads the peer or the metadata from a context.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

import grpc.aio

Metadata = tuple[tuple[str, str | bytes], ...]


@dataclass(frozen=True, slots=True)
class CallContext:
    """The data of a call known before its message. Safe to read at any time."""

    method: str
    peer: str
    """The caller's address, without the port."""
    metadata: Metadata

    @classmethod
    def of(cls, method: str, context: grpc.aio.ServicerContext) -> CallContext:
        """Read the context. Call this before the first `await` of the call's task."""
        return cls(method, peer_address(context.peer()), tuple(context.invocation_metadata() or ()))


def peer_address(peer: str) -> str:
    """Return the address in a gRPC peer string, such as ipv4:10.0.0.1:55000 or ipv6:%5B::1%5D:55000."""
    kind, _, rest = peer.partition(":")
    return unquote(rest).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else peer
