"""The compiled kernels of graphtide.graph: one extension for each .cpp of graph/kernels."""

from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension, build_ext
from setuptools import setup

KERNELS = Path("src/graphtide/graph/kernels")

ParallelCompile("GRAPHTIDE_BUILD_JOBS", default=2).install()

setup(
    ext_modules=[
        Pybind11Extension(
            f"graphtide.graph._{source.stem}",
            [str(source)],
            cxx_std=17,
            extra_compile_args=["-O3", "-g0"],
            depends=[str(header) for header in sorted(KERNELS.rglob("*.hpp"))],
        )
        for source in sorted(KERNELS.glob("*.cpp"))
    ],
    cmdclass={"build_ext": build_ext},
)
