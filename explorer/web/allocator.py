"""Memory that pages have freed, given back to the system: a server whose pages hold ever the same does not grow.

A server draws on many threads. Arrow's own allocator, and glibc, keep for each thread, or for each few of them, what
was freed there; it seldom fits what is needed next, and stays in the process. So here Arrow takes its memory from glibc
as all else does, and now and then glibc gives back what is free.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import cache

__all__ = ["give_back", "share_allocator"]

_POOL = "ARROW_DEFAULT_MEMORY_POOL"


def share_allocator() -> None:
    """Let Arrow take its memory from glibc; do nothing where another C library would keep it, too.

    Arrow reads its environment when it is loaded. If it is loaded already, its readers of Parquet keep what they use.
    """
    if _trim() is None or _POOL in os.environ:
        return
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        pa.set_memory_pool(pa.system_memory_pool())
    else:
        os.environ[_POOL] = "system"


def give_back() -> None:
    """Give whole pages of freed memory back to the system; do nothing where the C library does not offer that.

    It takes some milliseconds, in which other threads wait for memory, but not for Python.
    """
    if (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    """Return glibc's `malloc_trim`; None for another C library."""
    if not sys.platform.startswith("linux"):
        return None
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return None
    trim.argtypes, trim.restype = [ctypes.c_size_t], ctypes.c_int
    return trim  # type: ignore[no-any-return]  # ctypes knows its types at run time alone


share_allocator()
