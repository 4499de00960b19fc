"""What a server frees goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

_FRAGMENTED = """
import ctypes
from explorer.web.limits import resident_bytes
from explorer.web.allocator import give_back

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
pieces = [libc.malloc(4_000) for _ in range(60_000)]
for piece in pieces:
    ctypes.memset(piece, 1, 4_000)
# One of 50 stays, so there is something in use everywhere, and above all that is free.
for number, piece in enumerate(pieces):
    if number % 50:
        libc.free(piece)
before = resident_bytes()
give_back()
print(before, resident_bytes())
"""

_ARROW = """
import ctypes, os, sys
from concurrent.futures import ThreadPoolExecutor

if sys.argv[1] == "shared":
    import explorer.web
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

def resident_bytes():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def work(seed):
    for number in range(20):
        values = pa.array(np.random.default_rng(seed).integers(0, 1_000, 50_000))
        pc.cast(values, pa.string()).dictionary_encode()
        pc.sort_indices(values)

before = resident_bytes()
with ThreadPoolExecutor(16) as threads:
    list(threads.map(work, range(48)))
    ctypes.CDLL(None).malloc_trim(0)
    print(resident_bytes() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone keeps memory like this")
def test_what_is_freed_between_what_is_held_goes_back_to_the_system() -> None:
    told = subprocess.run([sys.executable, "-c", _FRAGMENTED], capture_output=True, text=True, check=True).stdout
    before, after = map(int, told.split())
    assert before > 200 << 20
    assert before - after > 150 << 20


@pytest.mark.whole("test_what_is_freed_between_what_is_held_goes_back_to_the_system")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone gives it back")
def test_what_arrow_freed_on_many_threads_goes_back_too() -> None:
    own, shared = (
        int(subprocess.run([sys.executable, "-c", _ARROW, how], capture_output=True, text=True, check=True).stdout)
        for how in ("own", "shared")
    )
    assert shared < own / 2
    assert shared < 80 << 20
