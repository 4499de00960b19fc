"""A store whose requests fail: before they are done, or after, so that the answer is lost; and other writers between.

It is a `LogStore` round a real one. Requests are counted; a fault strikes the one with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Literal, TypeVar

import pyarrow as pa

from explorer.core.errors import StorageError
from explorer.core.protocol.log_store import JoinedObjects, ListedObjects, LogStore, ObjectMeta, seen_of

__all__ = ["Fault", "FaultyStore"]

Fault = Literal["fails", "answer lost", "done late"]
"""``fails``: not done; ``answer lost``: done, and an error all the same; ``done late``: an error, and done only when
the next request comes, as with a request that was still on its way."""

_T = TypeVar("_T")


class FaultyStore:
    """A store with faults at some of its requests.

    Args:
        inner: The store that does the work.
        faults: Number of a request, from 0, and what becomes of it; every later one if the number is negative
            (-3: from request 2 on).
        between: Called before each request with its number, as other writers come in between.
    """

    def __init__(
        self, inner: LogStore, faults: dict[int, Fault] | None = None, between: Callable[[int], None] | None = None
    ) -> None:
        self.inner = inner
        self.faults = faults or {}
        self.between = between
        self.requests: list[str] = []
        self._late: list[Callable[[], object]] = []

    @property
    def root(self) -> str:
        return self.inner.root

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        return self._do(f"list {folder}", lambda: _seen(folder, self.inner.list_from(folder, start)))

    def list_tree(self) -> Iterable[str]:
        return self._do("list", lambda: list(self.inner.list_tree()))

    def list_files(self, check_cancelled: Callable[[], None] = lambda: None) -> pa.Table:
        return self._do("list files", lambda: self.inner.list_files(check_cancelled))

    def read(self, path: str) -> bytes:
        return self._do(f"read {path}", lambda: self.inner.read(path))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._do(f"read {path}", lambda: self.inner.read_range(path, offset, length))

    def read_parts(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        return self._do(f"read {path}", lambda: self.inner.read_parts(path, spans))

    def open_input(self, path: str) -> pa.NativeFile:
        return self._do(f"open {path}", lambda: self.inner.open_input(path))

    def open_sized(self, path: str, size: int) -> pa.NativeFile:
        return self._do(f"open {path}", lambda: self.inner.open_sized(path, size))

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return self._do(f"read {len(paths)}", lambda: self.inner.read_many(paths))

    def read_joined(self, paths: Sequence[str], sizes: Sequence[int]) -> JoinedObjects:
        return self._do(f"read {len(paths)}", lambda: self.inner.read_joined(paths, sizes))

    def read_starts(self, paths: Sequence[str], lengths: Sequence[int]) -> list[bytes]:
        return self._do(f"read starts of {len(paths)}", lambda: self.inner.read_starts(paths, lengths))

    def check_put_if_absent(self) -> None:
        self.inner.check_put_if_absent()

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._do(f"create {path}", lambda: self.inner.put_if_absent(path, data, durable=durable))

    def put(self, path: str, data: bytes) -> None:
        self._do(f"put {path}", lambda: self.inner.put(path, data))

    def head(self, path: str) -> ObjectMeta:
        return self._do(f"head {path}", lambda: self.inner.head(path))

    def delete(self, path: str) -> None:
        self._do(f"delete {path}", lambda: self.inner.delete(path))

    def delete_many(self, paths: Sequence[str]) -> None:
        self._do(f"delete {len(paths)}", lambda: self.inner.delete_many(paths))

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        return self.inner.elsewhere(location)

    def local_path(self, path: str) -> str | None:
        return self.inner.local_path(path)

    def settle(self) -> None:
        """Let the requests arrive that are still on their way."""
        late, self._late = self._late, []
        for request in late:
            with suppress(FileExistsError, FileNotFoundError):
                request()

    def _do(self, what: str, request: Callable[[], _T]) -> _T:
        number = len(self.requests)
        self.requests.append(what)
        self.settle()
        if self.between is not None:
            self.between(number)
        fault = self._fault(number)
        if fault is None:
            return request()
        if fault == "answer lost":
            with suppress(FileExistsError, FileNotFoundError):
                request()
        elif fault == "done late":
            self._late.append(request)
        raise StorageError(f"The connection broke at request {number}, {what}.", path=what) from TimeoutError(what)

    def _fault(self, number: int) -> Fault | None:
        if number in self.faults:
            return self.faults[number]
        return next((fault for start, fault in self.faults.items() if start < 0 and number >= -start - 1), None)


def _seen(folder: str, listed: Iterable[ObjectMeta]) -> ListedObjects:
    """What a store listed, without the way to look up earlier names, which would be no request."""
    found = ListedObjects.of(folder, listed)
    return ListedObjects(folder, found.names, seen_of(list(found)), folders=found.folders)
