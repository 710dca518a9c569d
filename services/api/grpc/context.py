"""What a gRPC call's context says of the call, read once, at its start.

grpcio frees a call when its task ends, and `context.peer()` then dereferences the freed call: the process dies. The
invariant: nothing else of the service asks a context for the peer or the metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

import grpc.aio

Metadata = tuple[tuple[str, str | bytes], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """What is known of a call before its message. Safe to read at any time."""

    method: str
    peer: str
    """The caller's address, without the port."""
    metadata: Metadata

    @classmethod
    def of(cls, method: str, context: grpc.aio.ServicerContext) -> Call:
        """Read the context. To be called before the first `await` of the call's task."""
        return cls(method, peer_address(context.peer()), tuple(context.invocation_metadata() or ()))


def peer_address(peer: str) -> str:
    """The address in what gRPC calls a peer, such as ipv4:10.0.0.1:55000 or ipv6:%5B::1%5D:55000."""
    kind, _, rest = peer.partition(":")
    return unquote(rest).rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else peer
