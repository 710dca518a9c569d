"""Index snapshots on disk: one folder, whose manifest names the data files and their content.

One rename replaces the manifest, after the data files it names are on disk, checked and loaded once as a proof.
Invariant: a folder holds the previous snapshot or the new one, complete, at every instant; and `read` accepts nothing
whose bytes differ from those that were proven.
"""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from graphtide.graph.vector_index import PADDING, Ids, Vectors
from graphtide.infra.durable_files import to_disk
from graphtide.infra.hnsw.bulk import BulkGeneration
from graphtide.infra.hnsw.exact import ExactGeneration
from graphtide.infra.hnsw.generation import SPACE, HnswGeneration
from graphtide.infra.hnsw.parameters import HnswParameters
from graphtide.infra.private_files import make_private_file, make_private_folder

Generation = ExactGeneration | BulkGeneration | HnswGeneration

MANIFEST = "manifest.json"
SCHEMA = 2
"""The format of manifest and data files. A snapshot of another one is not read: the index is built from the store."""
PROBES = 8
WRITTEN_ROWS = 1_024


class IndexDamaged(Exception):  # noqa: N818 - the name states the condition
    """The snapshot is missing, altered, or not the one asked for. Build the index from the store."""


class IndexNotSaved(OSError):  # noqa: N818 - the name states the condition
    """The snapshot could not be written and proven; the previous one is still valid."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Description of a snapshot's content. `count` is of labels, dead ones included.

    Manifests without `schema` are of 1, the first one, whose graphs held copies of the vectors.
    """

    dim: int
    space: str
    kind: str
    count: int
    version: int
    parameters: dict[str, int]
    vectors: str
    vectors_sha256: str
    vectors_size_bytes: int
    ids: str
    ids_sha256: str
    schema: int = 1


@dataclass(frozen=True, slots=True)
class WrittenIndex:
    """Data files under temporary names, not yet proven."""

    kind: str
    vectors: Path
    vectors_size_bytes: int
    ids: Path
    owner: Ids
    probe_ids: Ids
    probe_vectors: Vectors


class Snapshot:
    """One folder of snapshots of an index with the given dimensions and parameters. One writer at a time."""

    def __init__(self, folder: Path, dimensions: int, parameters: HnswParameters) -> None:
        """Make the object without touching the folder before `write` or `read`."""
        self._folder = folder
        self._dimensions = dimensions
        self._parameters = parameters

    def write(self, generation: Generation) -> WrittenIndex:
        """Write the data files under temporary names; called while the generation cannot change.

        Raises IndexNotSaved.
        """
        with _not_saved(self._folder):
            make_private_folder(self._folder)
            to_disk(self._folder.parent)
            vectors, ids = self._folder / "vectors.tmp", self._folder / "ids.tmp"
            if isinstance(generation, HnswGeneration):
                kind, owner = "hnsw", generation.owner()
                size_bytes = generation.write(str(vectors))
            else:
                kind, owner = "exact", generation.live_ids()
                size_bytes = _write_vectors(vectors, generation, owner)
            ids.write_bytes(owner.astype("<i8").tobytes())
            make_private_file(vectors)
            make_private_file(ids)
            live = owner[owner != PADDING]
            probes = live[:: max(1, len(live) // PROBES)]
            return WrittenIndex(kind, vectors, size_bytes, ids, owner, probes, generation.vectors(probes))

    def publish(self, written: WrittenIndex, version: int) -> None:
        """Prove the data files, name them in the manifest, and delete the files of earlier snapshots.

        Order: 1 sizes, 2 data to disk, 3 reload and probe, 4 final names, 5 folder to disk, 6 manifest by rename.
        Raises IndexNotSaved.
        """
        with _not_saved(self._folder):
            sizes = {written.vectors: written.vectors_size_bytes, written.ids: written.owner.nbytes}
            for file, size_bytes in sizes.items():  # 1
                if file.stat().st_size != size_bytes:
                    raise OSError(errno.ENOSPC, f"{file.stat().st_size} of {size_bytes} bytes written", str(file))
                to_disk(file)  # 2
            manifest = self._manifest(written, version)
            self._prove(written, manifest)  # 3
            written.vectors.replace(self._folder / manifest.vectors)  # 4
            written.ids.replace(self._folder / manifest.ids)
            to_disk(self._folder)  # 5
            self._write_manifest(manifest)  # 6
            for file in self._folder.iterdir():
                if file.name not in {MANIFEST, manifest.vectors, manifest.ids}:
                    file.unlink()

    def version(self) -> int:
        """Return the version in the manifest. Raises IndexDamaged when there is no readable manifest."""
        try:
            return self._read_manifest().version
        except OSError as error:
            raise IndexDamaged(f"index snapshot in {self._folder} cannot be read: {error}") from error

    def read(self, version: int) -> Generation:
        """Return the generation of the snapshot, which must have `version`. Raises IndexDamaged."""
        try:
            manifest = self._read_manifest()
            self._check_claims(manifest, version)
            vectors, ids = self._folder / manifest.vectors, self._folder / manifest.ids
            self._check_bytes(vectors, manifest.vectors_size_bytes, manifest.vectors_sha256)
            self._check_bytes(ids, 8 * manifest.count, manifest.ids_sha256)
            owner = np.frombuffer(ids.read_bytes(), dtype="<i8").astype(np.int64)
            return self._restore(manifest, vectors, owner)
        except (OSError, UnicodeEncodeError) as error:  # a file name that the manifest gives may be no file name
            raise IndexDamaged(f"index snapshot in {self._folder} cannot be read: {error}") from error

    def _check_claims(self, manifest: Manifest, version: int) -> None:
        claims = (
            ("dimensions", manifest.dim, self._dimensions),
            ("space", manifest.space, SPACE),
            ("version", manifest.version, version),
            ("parameters", manifest.parameters, _build_parameters(self._parameters)),
        )
        for name, found, expected in claims:
            if found != expected:
                raise IndexDamaged(f"index snapshot in {self._folder}: {name} {found}, expected {expected}")

    def _check_bytes(self, file: Path, size_bytes: int, sha256: str) -> None:
        if file.stat().st_size != size_bytes:
            raise IndexDamaged(f"{file} has {file.stat().st_size} of {size_bytes} bytes")
        if _sha256(file) != sha256:
            raise IndexDamaged(f"{file}: the bytes differ from those that were saved")

    def _restore(self, manifest: Manifest, vectors: Path, owner: Ids) -> Generation:
        if manifest.kind == "exact":
            large = len(owner) > self._parameters.exact_below  # saved before its graph was built
            index = (BulkGeneration if large else ExactGeneration)(self._dimensions)
            rows = np.frombuffer(vectors.read_bytes(), dtype="<f4").astype(np.float32, copy=False)
            index.put(owner.tolist(), rows.reshape(len(owner), self._dimensions))
            return index
        try:
            return HnswGeneration.restored(self._dimensions, self._parameters, str(vectors), owner)
        except RuntimeError as error:
            raise IndexDamaged(f"the graph in {vectors} cannot be loaded: {error}") from error

    def _manifest(self, written: WrittenIndex, version: int) -> Manifest:
        vectors_sha256, ids_sha256 = _sha256(written.vectors), _sha256(written.ids)
        return Manifest(
            dim=self._dimensions,
            space=SPACE,
            kind=written.kind,
            count=len(written.owner),
            version=version,
            parameters=_build_parameters(self._parameters),
            vectors=f"{vectors_sha256[:16]}.vectors",
            vectors_sha256=vectors_sha256,
            vectors_size_bytes=written.vectors_size_bytes,
            ids=f"{ids_sha256[:16]}.ids",
            ids_sha256=ids_sha256,
            schema=SCHEMA,
        )

    def _prove(self, written: WrittenIndex, manifest: Manifest) -> None:
        try:
            restored = self._restore(manifest, written.vectors, written.owner)
        except IndexDamaged as error:
            raise OSError(errno.EIO, f"the written snapshot does not load: {error}", str(written.vectors)) from error
        if not np.array_equal(restored.vectors(written.probe_ids), written.probe_vectors):
            raise OSError(errno.EIO, "the written snapshot has other vectors", str(written.vectors))

    def _write_manifest(self, manifest: Manifest) -> None:
        body = json.dumps(asdict(manifest), sort_keys=True)
        seal = hashlib.sha256(body.encode()).hexdigest()
        temporary = self._folder / "manifest.tmp"
        temporary.write_text(json.dumps({"manifest": body, "sha256": seal}) + "\n", encoding="utf-8")
        make_private_file(temporary)
        to_disk(temporary)
        temporary.replace(self._folder / MANIFEST)
        to_disk(self._folder)

    def _read_manifest(self) -> Manifest:
        try:
            envelope = json.loads((self._folder / MANIFEST).read_bytes())
            body = str(envelope["manifest"])
            if hashlib.sha256(body.encode()).hexdigest() != envelope["sha256"]:
                raise IndexDamaged(f"the manifest in {self._folder} does not match its checksum")
            return _manifest_in(json.loads(body), self._folder)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise IndexDamaged(f"the manifest in {self._folder} cannot be read: {error}") from error


def _write_vectors(file: Path, generation: ExactGeneration | BulkGeneration, owner: Ids) -> int:
    """Write unit vectors as little-endian float32, WRITTEN_ROWS at a time, and return the size it must have."""
    with file.open("wb") as out:
        return sum(
            out.write(generation.vectors(owner[start : start + WRITTEN_ROWS]).astype("<f4").tobytes())
            for start in range(0, len(owner), WRITTEN_ROWS)
        )


def _manifest_in(body: dict[str, object], folder: Path) -> Manifest:
    """Return the manifest with these fields. Raises IndexDamaged for another schema, TypeError for other fields."""
    schema = body.get("schema", 1)
    if schema != SCHEMA:
        raise IndexDamaged(f"the manifest in {folder} has schema {str(schema)[:40]}; this version reads {SCHEMA}")
    texts = {"space", "kind", "vectors", "vectors_sha256", "ids", "ids_sha256"}
    for name, value in body.items():
        expected = dict if name == "parameters" else str if name in texts else int
        if not isinstance(value, expected):
            raise TypeError(f"{name} is a {type(value).__name__}")
    return Manifest(**body)  # type: ignore[arg-type]


def _build_parameters(parameters: HnswParameters) -> dict[str, int]:
    # The others may change between save and load: they do not shape the graph.
    return {"links": parameters.links, "build_width": parameters.build_width, "seed": parameters.seed}


@contextmanager
def _not_saved(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:
        for file in folder.glob("*.tmp"):
            file.unlink(missing_ok=True)
        code = error.errno if isinstance(error, OSError) and error.errno else errno.EIO
        raise IndexNotSaved(code, f"index snapshot not saved: {error}", str(folder)) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
