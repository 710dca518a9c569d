"""Compiled kernels. Each is optional: without a compiler the pure-Python twin of the same interface is used."""

from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup

ParallelCompile("GRAPHTIDE_BUILD_JOBS", default=2).install()

kernels = [
    Pybind11Extension(
        f"graph._{source.stem}",
        [str(source)],
        cxx_std=17,
        extra_compile_args=["-O3", "-g0"],
        depends=[str(header) for header in sorted(Path("graph/kernels").rglob("*.hpp"))],
        optional=True,
    )
    for source in sorted(Path("graph/kernels").glob("*.cpp"))
]

setup(ext_modules=kernels)
