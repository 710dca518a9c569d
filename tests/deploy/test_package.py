"""The distribution: wheel and sdist hold real files, and an installation adds nothing but `graphtide`."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).parents[2]
FOLDERS = {"graph", "streams", "infra", "services"}
PAGE = "graphtide/services/page"
KERNELS = {source.stem for source in (ROOT / "graph" / "kernels").glob("*.cpp")}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command outside the repository; its output is part of the failure."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GRAPHTIDE_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sdist of a copy of the tracked files, and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("built")
    copy = folder / "copy"
    files = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    for name in filter(None, files):
        source = ROOT / name
        if source.is_symlink():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).symlink_to(source.readlink())
        elif source.exists() and not name.startswith("tests/"):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes(source.read_bytes())
    script = "import sys, setuptools.build_meta as b; print(b.build_sdist(sys.argv[1]))"
    run(sys.executable, "-c", script, folder, cwd=copy)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (unpacked,) = (folder / "unpacked").iterdir()
    run(sys.executable, "-c", script.replace("build_sdist", "build_wheel"), folder, cwd=unpacked)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment outside the repository with the wheel and the dependencies of the running environment."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)  # noqa: S202 - this test has built it
    ours = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "dependencies.pth").write_text("\n".join(ours))
    return folder


def test_wheel_adds_only_graphtide_when_it_is_installed(built: Path) -> None:
    """No generic name such as `graph` or `services` is installed beside other distributions' packages."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"graphtide"}
    inner = {name.split("/")[1] for name in names if name.startswith("graphtide/") and name.count("/") > 1}
    assert inner == FOLDERS
    compiled = {Path(name).name.split(".")[0].removeprefix("_") for name in names if name.endswith(".so")}
    assert compiled == KERNELS
    assert {"graphtide/py.typed", "graphtide/infra/sqlite/schema.sql"} <= set(names)


def test_wheel_holds_the_built_page_without_its_sources(built: Path) -> None:
    """Every file of the build is installed with its bytes, and neither TypeScript nor packages of npm are."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        page = {name: archive.read(name) for name in archive.namelist() if name.startswith(f"{PAGE}/")}
    built_files = [file for file in (ROOT / "services" / "page" / "dist").rglob("*") if file.is_file()]
    expected = {f"{PAGE}/{file.relative_to(ROOT / 'services' / 'page').as_posix()}": file for file in built_files}
    assert {name: content for name, content in page.items() if not name.endswith(".py")} == {
        name: file.read_bytes() for name, file in expected.items()
    }


def test_sdist_holds_files_and_no_links(built: Path) -> None:
    """The folders of the package are real in an sdist, with the kernels' sources."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    names = {member.name.split("/", 1)[1] for member in members if "/" in member.name}
    assert {f"src/graphtide/graph/kernels/{kernel}.cpp" for kernel in KERNELS} <= names


def test_installed_package_answers_when_the_repository_is_not_there(installed: Path, tmp_path: Path) -> None:
    """The five lines of the documentation work from an empty folder."""
    script = (
        "import asyncio, graphtide\n"
        "async def main():\n"
        "    async with graphtide.open('data') as db:\n"
        "        notes = db.graph('notes')\n"
        "        receipt = await notes.add('boiler', 'Ana Ruiz signed the contract for the boiler.')\n"
        "        answer = await notes.ask('Who signed the contract?', after=receipt.token)\n"
        "        print(graphtide.__file__, answer.answer, [c.doc_id for c in answer.citations])\n"
        "asyncio.run(main())\n"
    )
    output = run(installed / "bin" / "python", "-c", script, cwd=tmp_path)
    assert str(installed) in output and "Ana Ruiz" in output and "['boiler']" in output


def test_installed_demo_runs_when_the_repository_is_not_there(installed: Path, tmp_path: Path) -> None:
    """`python -m graphtide.services.demo` starts the service, streams the sample in and answers."""
    output = run(
        installed / "bin" / "python",
        "-m",
        "graphtide.services.demo",
        "--leave",
        *("--port", "0", "--grpc-port", "0", "--data", tmp_path / "data"),
        cwd=tmp_path,
    )
    assert "Graph kittiwake" in output
