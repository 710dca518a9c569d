"""A gateway's way to its replica by TLS: with the right files it is let in, and without them it says so."""

from __future__ import annotations

from pathlib import Path

from infra.settings import Settings
from services.cluster.remote import RemoteApplication
from streams.messages import DocumentMessage
from tests.support.certificates import authority
from tests.support.processes import service


async def test_gateway_shows_its_certificate_and_trusts_only_the_authority_it_was_told_of(tmp_path: Path) -> None:
    """A service that wants a client's certificate; then without one, and with another authority's."""
    ca, other = authority(tmp_path), authority(tmp_path, "other")
    certificate, key, _ = map(str, ca.issue("replica"))
    faced = {"GRAPHTIDE_TLS_CERT_FILE": certificate, "GRAPHTIDE_TLS_KEY_FILE": key}
    own, own_key, _ = map(str, ca.issue("gateway"))
    with service(tmp_path / "data", {**faced, "GRAPHTIDE_TLS_CLIENT_CA_FILE": str(ca.file)}) as running:
        right = Settings(query=running.grpc, query_ca_file=str(ca.file), tls_cert_file=own, tls_key_file=own_key)
        async with RemoteApplication.open(right) as remote:
            assert (await remote.health()).ready
            assert (await remote.publish([DocumentMessage("g", "a", "Ada met Bob.")])).token
        stranger = right.model_copy(update={"tls_cert_file": "", "tls_key_file": ""})
        misled = right.model_copy(update={"query_ca_file": str(other.file)})
        for wrong in (stranger, misled):
            async with RemoteApplication.open(wrong) as remote:
                said = await remote.health()
                assert not said.ready and "no replica answers" in said.parts["query"]
