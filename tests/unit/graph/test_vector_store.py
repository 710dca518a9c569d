"""Stored bytes: unchanged while others are freed, reused, moved into files and dropped from memory."""

from __future__ import annotations

import gc
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from graphtide.graph._vectors import StoredBytes
from graphtide.graph.vector_store import (
    VectorBytes,
    bound_reads,
    check_folder,
    keep_in_chunks,
    release,
    spill,
    stored,
    stored_text,
    stored_varied,
    text_of,
    vector_memory,
)
from graphtide.graph.vector_sum import bytes_of, vector_of

MIB = 1 << 20
TIMEOUT_S = 120


@pytest.fixture(autouse=True)
def in_chunks() -> Iterator[None]:
    """Store vectors in chunks during a test, which begins without one that could move into a file."""
    gc.collect()
    keep_in_chunks(True)
    with tempfile.TemporaryDirectory() as folder:
        while spill(Path(folder)):
            pass
    yield
    keep_in_chunks(False)


def contents(seed: int, size: int) -> bytes:
    """Return bytes that differ for each seed."""
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("seed", range(3))
def test_store_equals_its_model_over_random_allocations_and_frees(seed: int, tmp_path: Path) -> None:
    """Sizes of several vectors, growth and shrinkage, moves into files and releases of their pages in between."""
    print(f"seed {seed}")
    rng, vectors = random.Random(seed), dict[int, tuple[VectorBytes, bytes]]()
    gc.collect()
    before, moved, made = vector_memory().live_bytes, 0, 0
    for step in range(60):
        if step % 20 < 12:
            for made in range(made + 1, made + 600):  # noqa: B020 - numbers continue
                data = contents(made, rng.choice((54, 768, 2_048)))
                vectors[made] = stored(data), data
        else:
            for number in rng.sample(sorted(vectors), len(vectors) // 3):
                del vectors[number]
        if rng.random() < 0.5:
            moved += spill(tmp_path)
        if rng.random() < 0.3:
            release()
        found = vector_memory()
        assert found.live_bytes == before + sum(len(data) for _, data in vectors.values())
        assert found.live_bytes <= found.anonymous_bytes + found.mapped_bytes
        sample = rng.sample(sorted(vectors), min(len(vectors), 500))
        assert all(vectors[number][0] == vectors[number][1] == bytes(vectors[number][0]) for number in sample)
    assert moved > 4 * MIB and all(kept == data for kept, data in vectors.values())
    vectors.clear()
    assert vector_memory().live_bytes == before and not list(tmp_path.iterdir())


@pytest.mark.parametrize("seed", range(3))
def test_strings_of_varied_sizes_equal_their_model(seed: int, tmp_path: Path) -> None:
    """Over random allocations, frees, moves into files and releases. Short and very long ones remain as they are."""
    print(f"seed {seed}")
    rng, strings = random.Random(seed), dict[int, tuple[VectorBytes, bytes]]()
    gc.collect()
    before, moved, made = vector_memory().live_bytes, 0, 0
    for step in range(40):
        if step % 14 < 8:
            for made in range(made + 1, made + 400):  # noqa: B020 - numbers continue
                data = contents(
                    made, rng.choice((rng.randrange(1_500), rng.randrange(100), 3_000, rng.randrange(9_000)))
                )
                strings[made] = stored_varied(data), data
        else:
            for number in rng.sample(sorted(strings), len(strings) // 3):
                del strings[number]
        if rng.random() < 0.5:
            moved += spill(tmp_path)
        if rng.random() < 0.3:
            release()
        kept = [(len(data), isinstance(kept, StoredBytes)) for kept, data in strings.values()]
        assert all(is_stored == (32 <= size <= 65_532) for size, is_stored in kept)
        live, exact = vector_memory().live_bytes - before, sum(size for size, is_stored in kept if is_stored)
        assert exact <= live <= 1.15 * exact
        sample = rng.sample(sorted(strings), min(len(strings), 500))
        assert all(strings[number][0] == strings[number][1] for number in sample)
    assert moved > 2 * MIB and all(kept == data for kept, data in strings.values())
    strings.clear()
    assert vector_memory().live_bytes == before and not list(tmp_path.iterdir())


def test_size_of_a_string_of_a_varied_size_is_its_own() -> None:
    """At the bounds of every size of slots, and of those that are stored."""
    for size in (*range(31, 300), 507, 508, 509, 636, 637, 65_531, 65_532, 65_533):
        data = contents(size, size)
        kept = stored_varied(data)
        assert isinstance(kept, StoredBytes) == (32 <= size <= 65_532)
        assert len(kept) == size and kept == data and hash(kept) == hash(data) and bytes(kept) == data
        assert kept != data[:-1] and kept != data + b"\0"
        assert not isinstance(kept, StoredBytes) or sys.getsizeof(kept) == 32 + size


@pytest.mark.parametrize(
    "text", ["", "Ada", "Ada " * 20_000, "\u00e9\u2013\U0001f600" * 50, "\ud83d\ude00 \udfff" * 20]
)
def test_text_read_is_the_text_stored(text: str) -> None:
    """Empty, short, very long, of letters outside of ASCII, and surrogates; in chunks or not."""
    kept = stored_text(text)
    keep_in_chunks(False)
    assert text_of(kept) == text == text_of(stored_text(text)) and kept == stored_text(text)


def resident_mib() -> float:
    """Return the resident pages of mapped files in this process; those of a folder in memory count as shared ones."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("RssFile:", "RssShmem:"))) / 1_024


def test_pages_of_vectors_that_are_read_are_bounded(tmp_path: Path) -> None:
    """Reads in a random order, of every kind, leave few pages resident, and many without the bound; vectors that are
    freed meanwhile leave nothing behind.
    """
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    rng = random.Random(seed)
    expected = [contents(number, 4_096) for number in range(8_000)]
    vectors = [stored(data) for data in expected]
    while spill(tmp_path):
        pass
    places = rng.sample(range(8_000), 3_000)
    grown = []
    for bound in (2 * MIB, 0):
        release()
        bound_reads(bound)
        before = resident_mib()
        for place in places:
            kind = rng.randrange(3)
            if kind == 0:
                assert bytes(vectors[place]) == expected[place]
            elif kind == 1:
                assert vectors[place] == expected[place]
            else:
                assert vector_of(vectors[place]).tobytes() == expected[place]
        grown.append(resident_mib() - before)
        bound_reads(0)
    assert grown[0] < 5 and grown[1] > 9, grown
    bound_reads(64 * MIB)
    assert all(vectors[place] == expected[place] for place in places[:500])
    del vectors[:]
    vectors = [stored(data) for data in expected[:2_000]]
    spill(tmp_path)
    assert vectors == expected[:2_000]
    bound_reads(0)


def test_chunks_without_vectors_are_unmapped(tmp_path: Path) -> None:
    """All but one small chunk of a size are given back, those in files included, and the next vectors reuse none."""
    before = vector_memory()
    vectors = [stored(contents(number, 4_096)) for number in range(2_000)]
    assert vector_memory().chunks > before.chunks + 4 and spill(tmp_path) > 4 * MIB
    assert vector_memory().mapped_bytes > before.mapped_bytes + 4 * MIB
    vectors.clear()
    after = vector_memory()
    assert after.chunks <= before.chunks + 1 and after.mapped_bytes == before.mapped_bytes
    assert after.anonymous_bytes <= before.anonymous_bytes + MIB


def test_half_empty_chunk_in_a_file_is_used_again(tmp_path: Path) -> None:
    """New vectors occupy its free slots, the others keep their bytes, and it moves into a file again."""
    size = 4_096
    vectors = [stored(contents(number, size)) for number in range(256)]
    assert spill(tmp_path) == MIB and vector_memory().mapped_bytes >= MIB
    del vectors[::2]
    chunks = vector_memory().chunks
    vectors += [stored(contents(number, size)) for number in range(256, 384)]
    assert vector_memory().chunks == chunks
    wanted = [contents(number, size) for number in (*range(1, 256, 2), *range(256, 384))]
    assert vectors == wanted and spill(tmp_path) == MIB and vectors == wanted


def test_nearly_full_chunk_moves_once_it_is_not_written_to(tmp_path: Path) -> None:
    """The first move leaves it, because it may become full; the second one does not. A half-full one stays."""
    size = 5_000
    vectors = [stored(contents(number, size)) for number in range(MIB // size * 9 // 10)]
    assert [spill(tmp_path) for _ in range(3)] == [0, MIB, 0]
    other = [stored(contents(number, 5_008)) for number in range(MIB // 5_008 // 2)]
    assert [spill(tmp_path) for _ in range(2)] == [0, 0] and len(vectors) + len(other) > 0


def test_stored_bytes_have_the_interface_of_bytes_that_vectors_need() -> None:
    """Length, equality and hash, a buffer that cannot be written to, an array over it, a pickle, its size."""
    data = contents(1, 768)
    kept = stored(data)
    assert isinstance(kept, StoredBytes) and stored(kept) is kept and stored(b"") == b""
    assert len(kept) == 768 and kept == data and data == kept and kept != data[1:] and kept != 1
    assert hash(kept) == hash(data) and len({data, kept}) == 1 and kept == stored(data)
    assert b"".join([kept, data]) == data + data
    assert memoryview(kept).readonly and pickle.loads(pickle.dumps(kept)) == data  # noqa: S301 - its own
    assert sys.getsizeof(kept) == 32 + 768
    array = vector_of(kept)
    assert bytes_of(array) is kept and not array.flags.writeable
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        array.flags.writeable = True
    with pytest.raises(TypeError, match="cannot create"):
        StoredBytes()
    with pytest.raises(TypeError, match="expected bytes, got list"):
        stored([1])  # type: ignore[arg-type]


def test_vectors_stay_where_they_are_when_chunks_are_turned_off() -> None:
    """Bytes that are stored afterwards are the object itself."""
    data = contents(2, 100)
    kept = stored(data)
    keep_in_chunks(False)
    assert stored(data) is data and stored(kept) is kept and kept == data
    assert bytes_of(np.frombuffer(data, np.float16)) is data


def test_threads_store_free_and_move_vectors_at_a_time(tmp_path: Path) -> None:
    """Threads that read see their vectors unchanged while others move the chunks into files."""
    wrong: list[int] = []
    ended = threading.Event()

    def work(seed: int) -> None:
        rng, vectors = random.Random(seed), dict[int, VectorBytes]()
        for number in range(seed, seed + 6_000):
            vectors[number] = stored(contents(number, 768))
            if rng.random() < 0.45:
                del vectors[rng.choice(list(vectors)[:50])]
            if number % 500 == 0:
                wrong.extend(key for key, kept in vectors.items() if kept != contents(key, 768))
        wrong.extend(key for key, kept in vectors.items() if kept != contents(key, 768))

    def move() -> None:
        while not ended.is_set():
            spill(tmp_path)
            release()

    before = vector_memory().live_bytes
    workers = [threading.Thread(target=work, args=(seed,)) for seed in (0, 10_000, 20_000)]
    movers = [threading.Thread(target=move) for _ in range(2)]
    for thread in (*movers, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    ended.set()
    for thread in movers:
        thread.join()
    assert not wrong and vector_memory().live_bytes == before


def in_a_process(script: str, folder: Path) -> str:
    """Run a script that begins with a store of 8 MiB of vectors in `vectors`; return its output."""
    start = f"""
import gc, os, random, resource, signal, sys
from pathlib import Path
from graphtide.graph.vector_store import *
from graphtide.graph.vector_store import _vectors
folder, MIB = Path({str(folder)!r}), 1 << 20
def contents(number): return random.Random(number).randbytes(1_024)
def check(vectors): assert all(kept == contents(number) for number, kept in vectors.items())
def memory(kind):
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return 1_024 * int(fields[kind].split()[0])
keep_in_chunks(True)
vectors = {{number: stored(contents(number)) for number in range(8_192)}}
"""
    command = [sys.executable, "-c", start + script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_process_that_forks_and_its_child_do_not_see_each_others_vectors(tmp_path: Path) -> None:
    """Both free half of the vectors, reuse the slots, and move chunks into files of their own."""
    script = """
spill(folder)
vectors |= {number: stored(contents(number)) for number in range(8_192, 8_700)}  # a chunk that is not in a file
ready, go = os.pipe(), os.pipe()
child = os.fork()
for number in sorted(vectors)[child == 0 :: 2]:
    del vectors[number]
first = 100_000 if child else 200_000
vectors |= {number: stored(contents(number)) for number in range(first, first + 6_000)}
check(vectors)
assert spill(folder) >= MIB
check(vectors)
if not child:
    os.write(ready[1], b"1")
    os.read(go[0], 1)  # the parent has changed everything
    check(vectors)
    vectors.clear()
    os._exit(0 if vector_memory().live_bytes == 0 else 1)
os.read(ready[0], 1)
check(vectors)
os.write(go[1], b"1")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
check(vectors)
"""
    assert in_a_process(script, tmp_path) == "0\n"


def test_vectors_stay_in_memory_while_a_file_cannot_be_written(tmp_path: Path) -> None:
    """A limit of file sizes, as a full disk: the move fails, nothing is lost, and a later one succeeds."""
    script = """
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (MIB // 2, hard))
for _ in range(2):
    try: spill(folder)
    except OSError as error: print(error.strerror, error.filename == str(folder))
assert vector_memory().mapped_bytes == 0
check(vectors)
for number in range(0, 8_192, 3): del vectors[number]
vectors |= {number: stored(contents(number)) for number in range(10_000, 12_700)}
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(spill(folder) // MIB)
check(vectors)
"""
    assert in_a_process(script, tmp_path) == "File too large True\nFile too large True\n7\n"


def test_move_leaves_free_space(tmp_path: Path) -> None:
    """No file is written that would leave less than was asked for."""
    vectors = [stored(contents(number, 4_096)) for number in range(256)]
    with pytest.raises(OSError, match="No space left"):
        spill(tmp_path, shutil.disk_usage(tmp_path).total)
    assert vectors == [contents(number, 4_096) for number in range(256)] and spill(tmp_path, 1) == MIB


def test_moved_vectors_leave_anonymous_memory_and_released_ones_resident_memory(tmp_path: Path) -> None:
    """8 MiB of vectors, 7 to 8 of them in files: read again, they are pages of files."""
    script = """
anonymous = memory("RssAnon")
moved = spill(folder)
assert moved >= 7 * MIB
print((anonymous - memory("RssAnon") + MIB // 2) // MIB)
check(vectors)
file = memory("RssFile") + memory("RssShmem")  # the latter where the folder is a tmpfs
assert release() == moved
print((file - memory("RssFile") - memory("RssShmem") + MIB // 2) // MIB)
check(vectors)
"""
    fallen = [int(line) for line in in_a_process(script, tmp_path).split()]
    assert fallen[0] in (7, 8) and fallen[1] in (7, 8)


def test_pages_are_dropped_file_by_file(tmp_path: Path) -> None:
    """A call ends with the file that reaches its bound. The next one continues, after the last file with the first."""
    script = """
moved = spill(folder)
assert release() == moved
check(vectors)
first, calls = memory("RssFile") + memory("RssShmem"), 0
while calls * MIB < moved:
    assert release(1) == MIB
    calls += 1
fallen = first - memory("RssFile") - memory("RssShmem")
print((fallen + MIB // 2) // MIB in (7, 8), release(0), release(3 * MIB // 2) // MIB)
check(vectors)
"""
    assert in_a_process(script, tmp_path) == "True 0 2\n"


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL"])
def test_killed_process_leaves_no_file(signal: str, tmp_path: Path) -> None:
    """Its files have no names while it runs."""
    script = f"""
spill(folder)
child = os.fork()
if not child:
    spill(folder)
    os.kill(os.getpid(), signal.{signal})
os.waitpid(child, 0)
print(sorted(folder.iterdir()), vector_memory().mapped_bytes > 0)
"""
    assert in_a_process(script, tmp_path) == "[] True\n" and not list(tmp_path.iterdir())


def test_folder_in_memory_or_none_is_refused(tmp_path: Path) -> None:
    """A file of a tmpfs is memory itself."""
    check_folder(Path(__file__).parent)
    with pytest.raises(OSError, match="No such file"):
        check_folder(tmp_path / "none")
    if Path("/dev/shm").is_dir():  # noqa: S108 - a tmpfs, which is refused
        with pytest.raises(OSError, match="not supported"):
            check_folder(Path("/dev/shm"))  # noqa: S108 - as above
