"""Generator of the protobuf messages: run `python -m graphtide.services.api.schema.generate` after every change of the
proto.

Needs grpcio-tools (the `dev` extra). The messages are committed, so that an installation needs no compiler for them;
a test regenerates them and compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROTO = Path("graphtide/services/api/schema/graphtide.proto")
SOURCES = ROOT / "src"
MESSAGES = ("graphtide_pb2.py", "graphtide_pb2.pyi")


def generate(out: Path) -> None:
    """Write the messages below `out`, in the package's folder. Raises RuntimeError when the compiler fails."""
    import grpc_tools  # type: ignore[import-untyped]
    from grpc_tools import protoc

    well_known = Path(grpc_tools.__file__).with_name("_proto")
    outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi")]
    if protoc.main(["protoc", f"-I{SOURCES}", f"-I{well_known}", *outputs, str(SOURCES / PROTO)]) != 0:
        raise RuntimeError(f"{PROTO} does not compile; protoc printed the errors above")
    # Generated code is not strictly typed, and strict checking follows imports.
    stub = out / PROTO.with_name(MESSAGES[1])
    stub.write_text("# mypy: ignore-errors\n" + stub.read_text())


if __name__ == "__main__":
    generate(SOURCES)
    sys.stdout.write(f"wrote {', '.join(MESSAGES)}\n")
