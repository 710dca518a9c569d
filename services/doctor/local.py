"""The doctor's checks of this machine: contradictory settings, the data folder, the ports."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphtide.infra.models.local.embedders import recorded_name, setting_of
from graphtide.infra.settings import Settings, unknown_variables
from graphtide.services.access.bind_policy import gate_of, is_loopback
from graphtide.services.access.tls import certificates
from graphtide.services.api.http.transport.server import proxy_addresses
from graphtide.services.cluster.settings_check import check_cluster
from graphtide.services.doctor import DoctorFinding
from graphtide.services.doctor.database import database_findings
from graphtide.services.health import MIN_FREE_BYTES
from graphtide.services.model_wiring import plan
from graphtide.services.sources import mapped_sources
from graphtide.streams.errors import Broken

_START = "the service does not start"


def settings_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Yield contradictions of settings, unknown variables, missing protection and missing models."""
    for check in (plan, gate_of, certificates, check_cluster, mapped_sources, _check_proxies):
        try:
            check(settings)
        except Broken as error:
            yield DoctorFinding(
                "settings", str(error), _START, "change the settings that the message names (docs/settings.md)"
            )
    for name in unknown_variables():
        why = "the variable has no effect, and the intended setting has its default"
        yield DoctorFinding(
            "settings", f"unknown setting {name}", why, "correct its name (docs/settings.md)", serious=False
        )
    if settings.names_cluster and not (settings.kafka and settings.bolt):
        have, lack = ("kafka", "bolt") if settings.kafka else ("bolt", "kafka")
        what = f"GRAPHTIDE_{have.upper()} is set, and GRAPHTIDE_{lack.upper()} is not"
        yield DoctorFinding(
            "settings", what, "a cluster needs both, and one process needs neither", f"set {lack}, or unset {have}"
        )
    if settings.max_body_bytes > settings.max_batch_bytes:
        what = "max_body_bytes is more than max_batch_bytes"
        yield DoctorFinding(
            "settings", what, "a document could be accepted alone but not in a batch", "raise max_batch_bytes"
        )
    if settings.max_batch_bytes > settings.max_arriving_bytes:
        what = "max_batch_bytes is more than max_arriving_bytes"
        yield DoctorFinding("settings", what, "the largest batches are refused", "raise max_arriving_bytes")
    yield from _exposure(settings)
    yield from _stand_ins(settings)


def _check_proxies(settings: Settings) -> None:
    proxy_addresses(settings.trusted_proxies)


def _exposure(settings: Settings) -> Iterator[DoctorFinding]:
    if is_loopback(settings.host):
        return
    if settings.allow_unauthenticated and not (
        settings.api_keys_file or settings.jwt_key_file or settings.tls_client_ca_file
    ):
        why = f"every client that reaches {settings.host}:{settings.port} may read, change and delete everything"
        cure = "let a proxy check credentials, or: graphtide keys create NAME --graph '*' --file keys.toml"
        yield DoctorFinding(
            "credentials", "allow_unauthenticated is set, and no credentials are configured", why, cure, serious=False
        )
    elif not settings.tls_cert_file:
        why = "keys and documents cross the network unencrypted, unless a proxy provides TLS"
        yield DoctorFinding(
            "tls", "no certificate is configured", why, "set GRAPHTIDE_TLS_CERT_FILE and _KEY_FILE", serious=False
        )


def _stand_ins(settings: Settings) -> Iterator[DoctorFinding]:
    if not settings.embedding_base_url and settings.embedding_model == "hashing":
        why = "hashing embeddings match words, not meanings: they are for tests only"
        cure = "unset GRAPHTIDE_EMBEDDING_MODEL, or name another model (docs/models.md)"
        yield DoctorFinding("embeddings", "hashing embeddings are configured", why, cure, serious=False)
    if not settings.llm_base_url:
        why = "rules find simple relations only, and answers are quotations"
        cure = "set GRAPHTIDE_LLM_BASE_URL and GRAPHTIDE_LLM_MODEL (docs/models.md)"
        yield DoctorFinding("language model", "no language model is configured", why, cure, serious=False)


def folder_findings(settings: Settings, min_bytes: int = MIN_FREE_BYTES) -> Iterator[DoctorFinding]:
    """Yield the findings of the data folder: type, permissions, free space, embedding model, database file."""
    folder = settings.data
    above = next(each for each in (folder, *folder.resolve().parents) if each.exists())
    if not above.is_dir():
        yield DoctorFinding("data folder", f"{above} is not a folder", _START, "set GRAPHTIDE_DATA to a folder")
        return
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        what = f"{above} cannot be written: {error.strerror}"
        yield DoctorFinding("data folder", what, "nothing can be accepted", _cure_of(error, above))
        return
    free = shutil.disk_usage(above).free
    if free < min_bytes:
        what = f"{above} has {free >> 20} MB of free space"
        yield DoctorFinding(
            "data folder", what, "publishing stops when the disk is full", f"free space: du -sh {above}/*"
        )
    yield from _model_finding(settings)
    yield from database_findings(settings)


def _cure_of(error: OSError, folder: Path) -> str:
    """Return the remedy for a folder that cannot be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free space on its disk"
    elsewhere = "set GRAPHTIDE_DATA to another folder"
    if error.errno == errno.EROFS:
        return f"mount its file system for writing (findmnt -T {folder}), or {elsewhere}"
    return f"chown {os.getuid()} {folder}, or {elsewhere}"


def _model_finding(settings: Settings) -> Iterator[DoctorFinding]:
    file = settings.data / "embedding-model"
    recorded = file.read_text().strip() if file.is_file() else ""
    wanted = recorded_name(settings.embedding_base_url, settings.embedding_model)
    if recorded and wanted and recorded != wanted:
        what = f"{settings.data} was embedded with {recorded}, and the settings name {wanted}"
        cure = f"set GRAPHTIDE_EMBEDDING_MODEL back to {setting_of(recorded)}, or run graphtide reembed"
        yield DoctorFinding("data folder", what, f"vectors of two models cannot be compared, so {_START}", cure)


def port_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Yield ports that another process uses. Call this only while the own service does not run."""
    for option, port in (("port", settings.port), ("grpc_port", settings.grpc_port)):
        trouble = _taken(settings.host, port) if port else ""
        if trouble:
            what = f"cannot listen on {settings.host}:{port}: {trouble}"
            cure = f"find the process that uses it (ss -ltnp 'sport = :{port}'), or set GRAPHTIDE_{option.upper()}"
            yield DoctorFinding("ports", what, _START, cure)


def _taken(host: str, port: int) -> str:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
            tried.listen(1)
    except OSError as error:
        return error.strerror or str(error)
    return ""
