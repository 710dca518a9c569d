"""TLS between a gateway and its replica: admitted with the right files, and reported as refused without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphtide.infra.settings import Settings
from graphtide.services.cluster.remote_application import RemoteApplication
from graphtide.streams.errors import Retryable
from graphtide.streams.messages import DocumentMessage
from tests.support.certificates import Authority, Secret, authority
from tests.support.command import graphtide
from tests.support.processes import service
from tests.support.proxy import proxy


async def test_gateway_shows_its_certificate_and_trusts_only_the_authority_it_was_told_of(tmp_path: Path) -> None:
    """The service requires a client certificate; the gateway then has none, and then trusts another authority."""
    ca, other = authority(tmp_path), authority(tmp_path, "other")
    certificate, key, _ = map(str, ca.issue("replica"))
    faced = {"GRAPHTIDE_TLS_CERT_FILE": certificate, "GRAPHTIDE_TLS_KEY_FILE": key}
    own, own_key, _ = map(str, ca.issue("gateway"))
    with service(tmp_path / "data", {**faced, "GRAPHTIDE_TLS_CLIENT_CA_FILE": str(ca.file)}) as running:
        right = Settings(query_target=running.grpc, query_ca_file=str(ca.file), tls_cert_file=own, tls_key_file=own_key)
        async with RemoteApplication.open(right) as remote:
            assert (await remote.health()).ready
            assert (await remote.publish([DocumentMessage("g", "a", "Ada met Bob.")])).token
        stranger = right.model_copy(update={"tls_cert_file": "", "tls_key_file": ""})
        misled = right.model_copy(update={"query_ca_file": str(other.file)})
        for wrong in (stranger, misled):
            async with RemoteApplication.open(wrong) as remote:
                health = await remote.health()
                assert not health.ready and "no replica answers" in health.components["query"].text


@pytest.mark.thorough
async def test_gateway_shows_its_new_certificate_and_trusts_the_new_authority_without_a_restart(tmp_path: Path) -> None:
    """Both sides change to another authority; an invalid file changes nothing in between."""
    old, new = authority(tmp_path, "old"), authority(tmp_path, "new")
    theirs, ours = Secret(tmp_path / "theirs"), Secret(tmp_path / "ours")

    def turn(secret: Secret, ca: Authority, name: str) -> None:
        certificate, key, _ = ca.issue(name)
        secret.hold(tls_crt=certificate, tls_key=key, ca_crt=ca.file)

    def shown_from(secret: Secret) -> dict[str, str]:
        return {"tls_cert_file": str(secret / "tls.crt"), "tls_key_file": str(secret / "tls.key")}

    turn(theirs, old, "replica")
    turn(ours, old, "gateway")
    faced = {**shown_from(theirs), "tls_client_ca_file": str(theirs / "ca.crt")}
    environment = {f"GRAPHTIDE_{name.upper()}": value for name, value in faced.items()}
    with service(tmp_path / "data", environment) as running:
        async with proxy(running.grpc) as between:
            settings = Settings(query_target=between.address, query_ca_file=str(ours / "ca.crt"), **shown_from(ours))  # type: ignore[arg-type]
            async with RemoteApplication.open(settings) as remote:
                assert (await remote.health()).ready
                turn(theirs, new, "replica-2")
                ours.hold(tls_crt=tmp_path / "old.pem", tls_key=tmp_path / "old.pem", ca_crt=tmp_path / "old.pem")
                assert (await remote.health()).ready
                between.cut()
                with pytest.raises(Retryable):
                    await remote.graphs()
                turn(ours, new, "gateway-2")
                assert (await remote.publish([DocumentMessage("g", "a", "Ada met Bob.")])).token
                between.cut()
                assert await remote.document("g", "a")


@pytest.mark.thorough
def test_gateway_does_not_start_with_files_that_it_cannot_use(tmp_path: Path) -> None:
    """One message names the file, and it is the only output."""
    ended = graphtide(
        "worker", "gateway", "--metrics-port", "0", "--port", "0", query_target="a:1", query_ca_file="/nowhere"
    )
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    assert "GRAPHTIDE_QUERY_CA_FILE names /nowhere, which cannot be used: No such file" in ended.stderr
