"""The command `graphtide doctor`: runs all checks in turn and collects their findings. Changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import asdict
from pathlib import Path

from graphtide.infra.settings import Settings, SettingsError, load_settings
from graphtide.services.access.bind_policy import is_loopback
from graphtide.services.cli.client import Client, Json
from graphtide.services.cli.connection import Connection
from graphtide.services.cli.exit_codes import UNREACHABLE, CommandError
from graphtide.services.cli.terminal import tell
from graphtide.services.doctor import DoctorFinding
from graphtide.services.doctor.cluster import cluster_findings
from graphtide.services.doctor.local import folder_findings, port_findings, settings_findings
from graphtide.services.doctor.running import running_findings


def diagnose(config: Path | None, url: str, connection: Connection) -> Json:
    """Return {"findings": […], "looked_at": […]}. `url` "" means the address in the settings, if the service runs
    there.
    """
    try:
        settings = load_settings(None, config)
    except SettingsError as error:
        why, cure = "no process starts with these settings", "correct the setting at the place named above"
        return _body([DoctorFinding("settings", str(error), why, cure)], ["settings"])
    found = [*settings_findings(settings), *folder_findings(settings)]
    checked = ["settings", "data folder"]
    service, answers = _service(settings, url, connection)
    if not answers:
        service += port_findings(settings)
    found += service
    checked.append("the running service" if answers else "ports")
    if settings.embedding_base_url or settings.llm_base_url:
        from graphtide.services.doctor.endpoints import endpoint_findings

        found += asyncio.run(_all(endpoint_findings(settings)))
        checked.append("endpoints")
    if settings.names_cluster:
        found += asyncio.run(_all(cluster_findings(settings)))
        checked.append("cluster")
    return _body(found, checked)


def _service(settings: Settings, url: str, connection: Connection) -> tuple[list[DoctorFinding], bool]:
    """Return the findings of a running service, and True if one answers. A service named by `url` must answer."""
    try:
        with Client(url or own_url(settings), tell, timeout_s=10.0, connection=connection) as client:
            return list(running_findings(client, settings.jwt_leeway_s)), True
    except CommandError as error:
        if not url and error.code == UNREACHABLE:
            return [], False
        why = "clients can neither publish documents nor ask questions"
        return [
            DoctorFinding("service", str(error), why, "start it with graphtide serve, or name another with --url")
        ], not url


def own_url(settings: Settings) -> str:
    """Return the URL of a service with these settings on its own machine."""
    host = settings.host if is_loopback(settings.host) else "127.0.0.1"
    scheme = "https" if settings.tls_cert_file else "http"
    return f"{scheme}://[{host}]:{settings.port}" if ":" in host else f"{scheme}://{host}:{settings.port}"


async def _all(findings: AsyncIterator[DoctorFinding]) -> list[DoctorFinding]:
    return [each async for each in findings]


def _body(findings: Iterable[DoctorFinding], checked: list[str]) -> Json:
    return {"findings": [asdict(each) for each in findings], "looked_at": checked}
