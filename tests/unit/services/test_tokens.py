"""JSON Web Tokens: valid ones are admitted, and all known attacks are refused."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from graphtide.services.access.keys import KEY_NAME
from graphtide.services.access.policy import Action
from graphtide.services.access.tokens import TokenRules, TokenVerifier
from graphtide.services.api.schema.errors import Unauthenticated
from graphtide.streams.errors import Broken
from tests.support.guarded import AUDIENCE, ISSUER, public_pem, rules, token

NOW = int(time.time())
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "exp": NOW + 86_400, "graphtide": {"graphs": ["*"], "actions": ["admin"]}}


def part(value: object) -> str:
    """One part of a token, by hand."""
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_token_gives_what_its_claim_says(tmp_path: Path) -> None:
    """Name, graphs, actions; a subject that is unsafe in a log is replaced."""
    verifier = TokenVerifier(rules(tmp_path))
    who = verifier.principal(token(graphs=["notes", "t-*"], actions=["read", "write"]))
    assert (who.name, who.graphs) == ("token:ada", ("notes", "t-*"))
    assert who.actions == frozenset((Action.READ, Action.WRITE))
    forged = {verifier.principal(token(sub=sub)).name for sub in ("a\nforged line", "b\nforged line", None)}
    assert len(forged) == 3
    assert all(re.fullmatch(r"token:(#[0-9a-f]{16})?", name) for name in forged)


def test_token_has_a_name_that_no_key_can_have(tmp_path: Path) -> None:
    """Whatever its subject: neither limits nor log lines of a key are its own."""
    verifier = TokenVerifier(rules(tmp_path))
    for subject in ("ada", "token", "token:ada", "", None):
        assert not KEY_NAME.fullmatch(verifier.principal(token(sub=subject)).name)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 60},
        {"exp": None},
        {"exp": "never"},
        {"nbf": NOW + 86_400},
        {"iat": NOW + 86_400},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "others"},
        {"aud": None},
        {"aud": []},
        {"graphtide": None},
        {"graphtide": "admin"},
        {"graphtide": {"graphs": ["*"]}},
        {"graphtide": {"graphs": "*", "actions": ["read"]}},
        {"graphtide": {"graphs": ["*"], "actions": ["everything"]}},
        {"graphtide": {"graphs": ["*"], "actions": [["read"]]}},
    ],
    ids=lambda claims: str({name: "seconds" if isinstance(value, int) else value for name, value in claims.items()}),
)
def test_token_is_refused_when_a_claim_is_not_as_it_must_be(tmp_path: Path, claims: dict[str, Any]) -> None:
    """Ends, issuers, audiences, and claims of the wrong shape."""
    with pytest.raises(Unauthenticated):
        TokenVerifier(rules(tmp_path)).principal(token(**claims))


def test_token_is_let_in_within_the_leeway_only(tmp_path: Path) -> None:
    """Clocks may differ by what the settings say."""
    token_rules, now = rules(tmp_path), int(time.time())
    assert (
        TokenVerifier(replace(token_rules, leeway_s=300)).principal(token(exp=now - 100, nbf=now + 100)).name
        == "token:ada"
    )
    with pytest.raises(Unauthenticated, match="expired"):
        TokenVerifier(replace(token_rules, leeway_s=30)).principal(token(exp=now - 100))


@pytest.mark.parametrize("algorithm", ["none", "None", "nOnE", "HS256", "RS512", "ES256"])
def test_token_cannot_choose_its_algorithm(tmp_path: Path, algorithm: str) -> None:
    """No signature at all, and the public key taken for a shared secret, by hand since the library refuses to sign."""
    signed = f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(CLAIMS)}"
    mac = hmac.digest(public_pem().encode(), signed.encode(), "sha256")
    for signature in ("", base64.urlsafe_b64encode(mac).rstrip(b"=").decode()):
        with pytest.raises(Unauthenticated, match="not valid"):
            TokenVerifier(rules(tmp_path)).principal(f"{signed}.{signature}")


def test_token_cannot_bring_its_own_key(tmp_path: Path) -> None:
    """`jwk`, `jku`, `x5u` and `kid` in the header are not looked at, or not found."""
    mine = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    jwk = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(mine.public_key()))
    headers = {"jwk": jwk, "jku": "http://127.0.0.1:9/keys", "x5u": "http://127.0.0.1:9/", "kid": "../../etc/passwd"}
    forged = jwt.encode(CLAIMS, mine, "RS256", headers=headers)
    for key in ("", json.dumps({"keys": [{**jwk, "kid": "other", "use": "enc"}, {**_public_jwk(), "kid": "k"}]})):
        with pytest.raises(Unauthenticated, match="not valid"):
            TokenVerifier(rules(tmp_path, key=key)).principal(forged)


def _public_jwk() -> dict[str, object]:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    key = load_pem_public_key(public_pem().encode())
    assert isinstance(key, rsa.RSAPublicKey)
    found: dict[str, object] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key))
    return found


def test_key_set_is_searched_by_kid_and_read_again_when_it_turns(tmp_path: Path) -> None:
    """ES256 keys of a JWKS: the one that is named, not one of another kind; a new file takes its place."""
    old, new = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))

    def jwks(**named: ec.EllipticCurvePrivateKey) -> str:
        keys = [{**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(k.public_key())), "kid": n} for n, k in named.items()]
        return json.dumps({"keys": [*keys, {**_public_jwk(), "kid": "rsa"}]})

    def signed(kid: str, key: ec.EllipticCurvePrivateKey) -> str:
        return jwt.encode(CLAIMS, key, "ES256", headers={"kid": kid})

    token_rules = rules(tmp_path, "ES256", jwks(old=old))
    verifier = TokenVerifier(token_rules)
    assert verifier.principal(signed("old", old)).actions == {Action.ADMIN}
    for kid, key in (("new", new), ("old", new), ("rsa", old)):
        with pytest.raises(Unauthenticated):
            verifier.principal(signed(kid, key))
    token_rules.key_file.write_text(jwks(new=new, old=old) + "\n")
    assert verifier.principal(signed("new", new)).actions == {Action.ADMIN}
    token_rules.key_file.write_text("{")
    assert verifier.principal(signed("new", new)).actions == {Action.ADMIN}
    assert "not a JSON Web Key" in verifier.problem


def test_shared_secret_is_taken_when_it_is_long_enough(tmp_path: Path) -> None:
    """And refused when it is short, or a PEM file."""
    secret = "s" * 32
    verifier = TokenVerifier(rules(tmp_path, "HS256", secret + "\n"))
    assert verifier.principal(jwt.encode(CLAIMS, secret, "HS256")).actions == {Action.ADMIN}
    with pytest.raises(Broken, match="use at least 32"):
        TokenVerifier(rules(tmp_path, "HS256", "s" * 31))
    with pytest.raises(Broken, match="shared secret"):
        TokenVerifier(rules(tmp_path, "HS256"))


@pytest.mark.parametrize(
    ("algorithm", "key", "message"),
    [
        ("none", "x", "must be one of"),
        ("RS256", "not a key", "no public key"),
        ("ES256", public_pem(), "no public key"),
        ("RS256", '{"keys": []}', "no key for RS256"),
        ("RS256", '{"keys": 3}', "not a JSON Web Key"),
    ],
)
def test_rules_are_refused_when_they_cannot_work(tmp_path: Path, algorithm: str, key: str, message: str) -> None:
    """At the start, not at the first token."""
    with pytest.raises(Broken, match=message):
        TokenVerifier(rules(tmp_path, algorithm, key))


def test_rules_need_issuer_and_audience_and_a_public_key_will_do(tmp_path: Path) -> None:
    """Both are named; and a private key in the file is taken for its public half or refused, never shown."""
    file = rules(tmp_path).key_file
    with pytest.raises(Broken, match="GRAPHTIDE_JWT_ISSUER"):
        TokenVerifier(TokenRules(file, "RS256", "", AUDIENCE, 0, "graphtide"))
    assert TokenVerifier(rules(tmp_path, key=public_pem())).principal(token()).name == "token:ada"
    private = ec.generate_private_key(ec.SECP256R1())
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(Broken, match="private key"):
        TokenVerifier(rules(tmp_path, "ES256", pem))
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    assert TokenVerifier(rules(tmp_path, "ES256", public)).principal(jwt.encode(CLAIMS, private, "ES256"))
