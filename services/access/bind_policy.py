"""The access gate built from the settings, and the rule that no server listens beyond loopback without one.

The invariant: every server that listens calls `gate_of`, so no process can skip the check.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from graphtide.infra.private_files import READERS
from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate, CallerRateLimits
from graphtide.services.access.keys import KeyRing, read_keys
from graphtide.services.access.reloading import WatchedFile
from graphtide.services.access.tokens import TokenRules, TokenVerifier
from graphtide.streams.errors import Broken


def gate_of(settings: Settings) -> AccessGate:
    """Return the gate that the settings configure.

    Raises Broken when a file cannot be used, and when `host` is not loopback and no credential, client certificate or
    setting protects it.
    """
    if (settings.jwt_issuer or settings.jwt_audience) and not settings.jwt_key_file:
        raise Broken(
            "GRAPHTIDE_JWT_ISSUER or GRAPHTIDE_JWT_AUDIENCE is set, and GRAPHTIDE_JWT_KEY_FILE is not: without the key "
            "file no token is checked; set GRAPHTIDE_JWT_KEY_FILE too"
        )
    keys = key_file(settings.api_keys_file) if settings.api_keys_file else None
    tokens = TokenVerifier(_rules(settings)) if settings.jwt_key_file else None
    fairness = CallerRateLimits(
        settings.max_in_flight, settings.key_requests_per_second, settings.failed_auth_per_minute
    )
    gate = AccessGate(keys, tokens, fairness, metrics_public=settings.metrics_public)
    guarded = not gate.is_open or bool(settings.tls_client_ca_file) or settings.allow_unauthenticated
    if not guarded and not is_loopback(settings.host):
        raise Broken(unguarded(settings.host))
    return gate


def key_file(path: str) -> WatchedFile[KeyRing]:
    """Return the keys of a file, read again when it changes. Raises Broken."""
    return WatchedFile(Path(path), lambda text, place: KeyRing(read_keys(text, place)), READERS)


def unguarded(host: str) -> str:
    """Return the error text for listening on `host` without credentials, with the remedies."""
    return (
        f"refusing to listen on {host} without credentials: any client could read, change and delete "
        "everything. Create a key (graphtide keys create NAME --file keys.toml) and set GRAPHTIDE_API_KEYS_FILE; "
        "or set GRAPHTIDE_JWT_KEY_FILE or GRAPHTIDE_TLS_CLIENT_CA_FILE; or listen on 127.0.0.1; or, after a proxy "
        "that checks credentials, set GRAPHTIDE_ALLOW_UNAUTHENTICATED=true"
    )


def _rules(settings: Settings) -> TokenRules:
    return TokenRules(
        Path(settings.jwt_key_file),
        settings.jwt_algorithm,
        settings.jwt_issuer,
        settings.jwt_audience,
        settings.jwt_leeway_s,
        settings.jwt_permissions_claim,
    )


def is_loopback(host: str) -> bool:
    """Return True when only this machine can reach `host`. Of names, only localhost counts as loopback."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
