"""What can be seen on this machine: settings that contradict each other, the data folder, the kernels, the ports."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from graphtide.infra import kernels
from graphtide.infra.settings import Settings, unknown_variables
from graphtide.services.access.bind_policy import gate_of, is_loopback
from graphtide.services.access.tls import certificates
from graphtide.services.cluster.settings_check import check_cluster
from graphtide.services.doctor import DoctorFinding
from graphtide.services.health import LEAST_FREE_BYTES
from graphtide.services.model_wiring import plan
from graphtide.streams.errors import Broken

_START = "the service does not start like this"


def settings_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Contradictions, and what is left open."""
    for check in (plan, gate_of, certificates, check_cluster):
        try:
            check(settings)
        except Broken as error:
            yield DoctorFinding("settings", str(error), _START, "change the settings that it names (docs/settings.md)")
    for name in unknown_variables():
        why = "it has no effect, and what it was meant to set has its default"
        yield DoctorFinding(
            "settings", f"{name} is no setting", why, "correct its name (docs/settings.md)", serious=False
        )
    if bool(settings.kafka) != bool(settings.bolt):
        have, lack = ("kafka", "bolt") if settings.kafka else ("bolt", "kafka")
        what = f"GRAPHTIDE_{have.upper()} is set, and GRAPHTIDE_{lack.upper()} is not"
        yield DoctorFinding(
            "settings", what, "a cluster needs both, and one process needs neither", f"set {lack}, or unset {have}"
        )
    if settings.max_body_bytes > settings.max_batch_bytes:
        what = "max_body_bytes is more than max_batch_bytes"
        yield DoctorFinding(
            "settings", what, "a document could be taken alone and not in a batch", "raise max_batch_bytes"
        )
    yield from _exposure(settings)
    yield from _stand_ins(settings)


def _exposure(settings: Settings) -> Iterator[DoctorFinding]:
    if is_loopback(settings.host):
        return
    if settings.insecure and not (settings.api_keys_file or settings.jwt_key_file or settings.tls_client_ca_file):
        why = f"whoever reaches {settings.host}:{settings.port} may read, change and delete everything"
        cure = "be sure of the proxy in front, or: graphtide keys create NAME --graph '*' --file keys.toml"
        yield DoctorFinding("credentials", "insecure is on, and there are no credentials", why, cure, serious=False)
    elif not settings.tls_cert_file:
        why = "keys and documents cross the network in the clear, unless a proxy in front speaks TLS"
        yield DoctorFinding(
            "tls", "there is no certificate", why, "set GRAPHTIDE_TLS_CERT_FILE and _KEY_FILE", serious=False
        )


def _stand_ins(settings: Settings) -> Iterator[DoctorFinding]:
    if not settings.embedding_base_url:
        why = "hashing embeddings find words, not meanings: they are for trying out"
        cure = "set GRAPHTIDE_EMBEDDING_BASE_URL and GRAPHTIDE_EMBEDDING_MODEL (docs/models.md)"
        yield DoctorFinding("embeddings", "no embedding endpoint is configured", why, cure, serious=False)
    if not settings.llm_base_url:
        why = "rules find simple relations only, and answers are quotations"
        cure = "set GRAPHTIDE_LLM_BASE_URL and GRAPHTIDE_LLM_MODEL (docs/models.md)"
        yield DoctorFinding("language model", "no language model is configured", why, cure, serious=False)


def folder_findings(settings: Settings, least_bytes: int = LEAST_FREE_BYTES) -> Iterator[DoctorFinding]:
    """The data folder: there, ours, with room, and begun with the model of the settings."""
    folder = settings.data
    above = next(each for each in (folder, *folder.resolve().parents) if each.exists())
    if not above.is_dir():
        yield DoctorFinding("data folder", f"{above} is no folder", _START, "set GRAPHTIDE_DATA to a folder")
        return
    try:
        with tempfile.TemporaryFile(dir=above):
            pass
    except OSError as error:
        what = f"{above} cannot be written: {error.strerror}"
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        cure = "make room there" if full else f"chown {os.getuid()} {above}, or set GRAPHTIDE_DATA to another folder"
        yield DoctorFinding("data folder", what, "nothing can be accepted", cure)
        return
    free = shutil.disk_usage(above).free
    if free < least_bytes:
        what = f"{above} has {free >> 20} MB left"
        yield DoctorFinding(
            "data folder", what, "publishing stops when the disk is full", f"make room: du -sh {above}/*"
        )
    yield from _model_finding(settings)


def _model_finding(settings: Settings) -> Iterator[DoctorFinding]:
    file = settings.data / "embedding-model"
    held = file.read_text().strip() if file.is_file() else ""
    said = f"openai/{settings.embedding_model}" if settings.embedding_base_url else ""
    if held and ((said and held != said) or (not said and held.startswith("openai/"))):
        what = f"{settings.data} was embedded with {held}, and the settings say {said or 'none'}"
        cure = f"set GRAPHTIDE_EMBEDDING_MODEL back to {held.removeprefix('openai/')}, or publish to a new data folder"
        yield DoctorFinding("data folder", what, f"vectors of two models cannot be compared, so {_START}", cure)


def kernel_findings(folder: Path = kernels.FOLDER) -> Iterator[DoctorFinding]:
    """Compiled kernels that are missing, or not of the sources beside them."""
    said = {
        "stale": ("is older than its sources", _START, True),
        "missing": ("is not compiled", "everything works, and documents and questions take longer", False),
        "unknown": ("does not say which sources it is of", "if it is of others, it fails at its first call", False),
    }
    for name, state in kernels.states(folder).items():
        if state in said:
            what, why, serious = said[state]
            yield DoctorFinding("kernels", f"the kernel {name} {what}", why, kernels.CURE, serious)


def port_findings(settings: Settings) -> Iterator[DoctorFinding]:
    """Ports that somebody else has. Not to be asked when our own service runs."""
    for option, port in (("port", settings.port), ("grpc_port", settings.grpc_port)):
        trouble = _taken(settings.host, port) if port else ""
        if trouble:
            what = f"{settings.host}:{port} cannot be had: {trouble}"
            cure = f"find who has it (ss -ltnp 'sport = :{port}'), or set GRAPHTIDE_{option.upper()}"
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
