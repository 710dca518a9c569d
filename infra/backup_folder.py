"""Backup folders: files beside a sealed manifest that lists each file with its size and SHA-256.

Invariant: a folder under its final name is complete. It is written under a temporary name beside the target, flushed to
the disk, and renamed. The next backup deletes what a killed one left under the temporary name.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from graphtide.infra.durable_files import to_disk
from graphtide.infra.private_files import PRIVATE_FILE, create_private_folder
from graphtide.streams.errors import Broken

MANIFEST = "manifest.json"
FORMAT = 1
COPY_BYTES = 1 << 20

Progress = Callable[[str, int, int], None]
"""Receives the current step, the amount done and the total amount (0: unknown)."""


def silent(_about: str, _done: int, _total: int) -> None:
    """Discard the progress report."""


@dataclass(frozen=True, slots=True)
class GraphState:
    """One graph in a backup. `digest` is the canonical digest of its rows."""

    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class BackupFile:
    """One file of a backup."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """Content of a backup. `kind` is "data folder" or "graph database"; `schema` is the schema number of that storage.

    `watermarks` are the next offsets of the partitions of `extractions`, for storage whose log is not part of the
    backup.
    """

    kind: str
    schema: int
    graphtide: str
    created_at: str
    graphs: Mapping[str, GraphState]
    files: Mapping[str, BackupFile]
    watermarks: Mapping[str, int]


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that becomes `target` when the block ends without an error.

    Raises Broken when `target` holds files, or another backup is writing to it.
    """
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise Broken(f"{target} exists and is not an empty folder: name another folder for the backup")
        beside = target.absolute().with_name(f".{target.absolute().name}.part")
        create_private_folder(beside)
        with _only_writer(beside, target):
            for left in beside.iterdir():
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            try:
                yield beside
                to_disk(beside)
                beside.replace(target)
                to_disk(target.absolute().parent)
            except BaseException:
                shutil.rmtree(beside, ignore_errors=True)
                raise
    except OSError as error:
        raise Broken(f"the backup {target} cannot be written: {error.strerror or error}") from error


@contextmanager
def _only_writer(beside: Path, target: Path) -> Iterator[None]:
    descriptor = os.open(beside, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise Broken(f"another backup is writing to {target}: wait for it, or name another folder") from error
    try:
        yield
    finally:
        os.close(descriptor)


def seal(
    folder: Path, kind: str, schema: int, graphs: Mapping[str, GraphState], watermarks: Mapping[str, int] | None = None
) -> BackupManifest:
    """Flush the files of a folder to the disk and write the manifest that lists them."""
    files: dict[str, BackupFile] = {}
    for path in sorted(folder.iterdir()):
        path.chmod(PRIVATE_FILE)
        to_disk(path)
        files[path.name] = BackupFile(path.stat().st_size, sha256_of(path))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = BackupManifest(kind, schema, _own_version(), now, dict(graphs), files, dict(watermarks or {}))
    body = json.dumps(asdict(manifest), sort_keys=True)
    sealed = {"format": FORMAT, "manifest": json.loads(body), "sha256": _sealed(body)}
    path = folder / MANIFEST
    path.touch(PRIVATE_FILE)
    path.write_text(json.dumps(sealed, indent=1) + "\n", encoding="utf-8")
    to_disk(path)
    return manifest


def read_manifest(folder: Path, kind: str, schema: int) -> BackupManifest:
    """Read the manifest of a backup of that kind, whose schema is at most `schema`. Raises Broken."""
    try:
        envelope = json.loads((folder / MANIFEST).read_bytes())
        if envelope["format"] != FORMAT:
            raise Broken(
                f"the backup {folder} has format {envelope['format']!r}; this version reads format {FORMAT}:"
                " use the version of Graphtide that wrote it"
            )
        body = envelope["manifest"]
        if _sealed(json.dumps(body, sort_keys=True)) != envelope["sha256"]:
            raise Broken(f"the manifest of the backup {folder} does not match its checksum: use another backup")
        graphs = {name: GraphState(**state) for name, state in body.pop("graphs").items()}
        files = {name: BackupFile(**file) for name, file in body.pop("files").items()}
        manifest = BackupManifest(graphs=graphs, files=files, **body)
    except OSError as error:
        raise Broken(f"{folder / MANIFEST} cannot be read: {error.strerror}; is {folder} a backup?") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Broken(f"{folder / MANIFEST} is not the manifest of a backup: {error}") from error
    if manifest.kind != kind:
        raise Broken(f"{folder} is the backup of a {manifest.kind}, and the settings name a {kind}")
    if manifest.schema > schema:
        raise Broken(
            f"the backup {folder} has schema {manifest.schema}, which a newer version of Graphtide wrote; "
            f"this version reads schema {schema}: upgrade Graphtide first"
        )
    return manifest


def check_files(folder: Path, manifest: BackupManifest, on_progress: Progress = silent) -> None:
    """Compare every file with the manifest. Raises Broken for a file that is missing or has other bytes."""
    for number, (name, file) in enumerate(manifest.files.items()):
        on_progress("files verified", number, len(manifest.files))
        path = folder / name
        try:
            if Path(name).name != name or path.stat().st_size != file.size_bytes or sha256_of(path) != file.sha256:
                raise Broken(f"{path} does not match the backup's manifest: use another backup")
        except OSError as error:
            raise Broken(f"{path} cannot be read: {error.strerror}; use another backup") from error


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copy_private(source: Path, target: Path) -> None:
    """Copy a file and flush it to the disk, readable by its owner alone."""
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE)
    with source.open("rb") as read, os.fdopen(descriptor, "wb") as written:
        shutil.copyfileobj(read, written, COPY_BYTES)
        written.flush()
        os.fsync(written.fileno())


def _sealed(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


def _own_version() -> str:
    try:
        return version("graphtide")
    except PackageNotFoundError:
        return "unknown"
