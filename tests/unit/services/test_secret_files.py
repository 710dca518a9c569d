"""Permissions of the files that operators name: keys, shared secrets and private keys are for their owner alone."""

from __future__ import annotations

import logging
from pathlib import Path
from stat import S_IMODE

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from graphtide.infra.private_files import READERS
from graphtide.infra.settings import Settings
from graphtide.services.access.bind_policy import key_file
from graphtide.services.access.reloading import read_bytes
from graphtide.services.access.tls import certificates
from graphtide.services.access.tokens import TokenRules, TokenVerifier
from tests.support.certificates import authority


def mode(path: Path) -> int:
    return S_IMODE(path.stat().st_mode)


def verifier(path: Path, algorithm: str) -> TokenVerifier:
    return TokenVerifier(TokenRules(path, algorithm, "issuer", "audience", 0, "graphtide"))


def test_key_file_is_restricted_with_one_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """At the start, and when a newer file is read; a private file gets no warning."""
    path = tmp_path / "keys.toml"
    path.write_text("")
    path.chmod(0o644)
    watched = key_file(str(path))
    assert mode(path) == 0o600
    watched.value()
    newer = tmp_path / "newer"
    newer.write_text("# newer")
    newer.chmod(0o666)
    newer.replace(path)
    watched.value()
    assert mode(path) == 0o600
    assert [
        record.getMessage().partition(": ")[2] for record in caplog.records if record.levelno == logging.WARNING
    ] == [
        "other users could read it; it is now restricted to its owner",
        "other users could change it; it is now restricted to its owner",
    ]


def test_shared_secret_is_restricted_and_a_public_key_may_be_read(tmp_path: Path) -> None:
    """Other users may not change a public key, because it decides which tokens are valid."""
    secret, public = tmp_path / "secret", tmp_path / "public.pem"
    secret.write_text("s" * 32)
    key = authority(tmp_path).key.public_key()
    public.write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    for path in (secret, public):
        path.chmod(0o666)
    verifier(secret, "HS256")
    verifier(public, "ES256")
    assert (mode(secret), mode(public)) == (0o600, 0o644)


def test_private_key_of_tls_is_restricted(tmp_path: Path) -> None:
    """The certificate beside it keeps its permissions."""
    certificate, key, _ = authority(tmp_path).issue("localhost")
    for path in (certificate, key):
        path.chmod(0o644)
    assert certificates(Settings(tls_cert_file=str(certificate), tls_key_file=str(key))) is not None
    assert (mode(certificate), mode(key)) == (0o644, 0o600)


def test_file_whose_permissions_cannot_change_is_read_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """As a read-only mount of a secret: refusing it would stop a service that ran before."""
    assert read_bytes(Path("/proc/self/status"), READERS)
    assert "other users may read it; run chmod go= as its owner" in caplog.text
