"""Compiled kernels. Each is optional: without a compiler the pure-Python twin of the same interface is used.

Beside each goes the digest of its sources, by which the service knows at its start that the two belong together.
"""

import sys
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from pybind11.setup_helpers import build_ext as BuildExt  # noqa: N812 -- it is a class
from setuptools import Extension, setup

sys.path.insert(
    0, str(Path(__file__).parent / "src" / "graphtide" / "infra")
)  # read alone: the package itself needs numpy

from kernel_digest import digest, stamp

ParallelCompile("GRAPHTIDE_BUILD_JOBS", default=2).install()


class StampedBuild(BuildExt):
    """Compiles what is not of these sources, whatever the files' times say, and stamps it."""

    def build_extension(self, ext: Extension) -> None:
        source = Path(ext.sources[0])
        written = stamp(source, Path(self.get_ext_fullpath(ext.name)).parent)
        forced, self.force = self.force, not written.exists() or written.read_text() != digest(source)
        try:
            written.unlink(missing_ok=True)
            super().build_extension(ext)
            written.parent.mkdir(parents=True, exist_ok=True)
            written.write_text(digest(source))
        finally:
            self.force = forced

    def copy_extensions_to_source(self) -> None:
        """The stamps go where the extensions go, when they are built in place."""
        super().copy_extensions_to_source()
        beside = Path(self.get_finalized_command("build_py").get_package_dir("graphtide.graph"))
        for ext in self.extensions:
            source = Path(ext.sources[0])
            built = stamp(source, Path(self.build_lib) / "graphtide" / "graph")
            if built.exists():
                stamp(source, beside).write_text(built.read_text())


kernels = [
    Pybind11Extension(
        f"graphtide.graph._{source.stem}",
        [str(source)],
        cxx_std=17,
        extra_compile_args=["-O3", "-g0"],
        depends=[str(header) for header in sorted(Path("src/graphtide/graph/kernels").rglob("*.hpp"))],
        optional=True,
    )
    for source in sorted(Path("src/graphtide/graph/kernels").glob("*.cpp"))
]

setup(ext_modules=kernels, cmdclass={"build_ext": StampedBuild})
