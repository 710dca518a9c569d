"""From settings to a gate, and the rule that nothing listens beyond this machine without one.

Not the servers. The invariant: whoever listens calls `gate_of`, so no process can forget to ask.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

from graphtide.infra.settings import Settings
from graphtide.services.access.gate import AccessGate, CallerRateLimits
from graphtide.services.access.keys import KeyRing, read_keys
from graphtide.services.access.reloading import WatchedFile
from graphtide.services.access.tokens import TokenRules, TokenVerifier
from graphtide.streams.errors import Broken


def gate_of(settings: Settings) -> AccessGate:
    """The gate that the settings ask for.

    Raises Broken when a file cannot be used, and when `host` is not this machine alone and nothing guards it.
    """
    if (settings.jwt_issuer or settings.jwt_audience) and not settings.jwt_key_file:
        raise Broken(
            "GRAPHTIDE_JWT_ISSUER or GRAPHTIDE_JWT_AUDIENCE is set, and GRAPHTIDE_JWT_KEY_FILE is not: without the key "
            "no token is asked for"
        )
    keys = key_file(settings.api_keys_file) if settings.api_keys_file else None
    tokens = TokenVerifier(_rules(settings)) if settings.jwt_key_file else None
    fairness = CallerRateLimits(settings.max_in_flight, settings.key_requests_per_second, settings.tries_per_minute)
    gate = AccessGate(keys, tokens, fairness, metrics_open=settings.metrics_open)
    guarded = not gate.is_open or bool(settings.tls_client_ca_file) or settings.insecure
    if not guarded and not is_loopback(settings.host):
        raise Broken(unguarded(settings.host))
    return gate


def key_file(path: str) -> WatchedFile[KeyRing]:
    """The keys in a file. Raises Broken."""
    return WatchedFile(Path(path), lambda text, place: KeyRing(read_keys(text, place)))


def unguarded(host: str) -> str:
    """What is wrong with listening on `host` without credentials, and the ways out."""
    return (
        f"refusing to listen on {host} without credentials: whoever reaches it could read, change and delete "
        "everything. Either make a key (graphtide keys create NAME --file keys.toml) and set GRAPHTIDE_API_KEYS_FILE, "
        "or set GRAPHTIDE_JWT_KEY_FILE, or GRAPHTIDE_TLS_CLIENT_CA_FILE; or listen on 127.0.0.1; or, behind a proxy "
        "that asks for credentials, set GRAPHTIDE_INSECURE=true"
    )


def _rules(settings: Settings) -> TokenRules:
    return TokenRules(
        Path(settings.jwt_key_file),
        settings.jwt_algorithm,
        settings.jwt_issuer,
        settings.jwt_audience,
        settings.jwt_leeway_s,
        settings.jwt_claim,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`. A name that is no address counts as reachable, but for localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
