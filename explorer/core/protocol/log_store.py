"""The one boundary between the protocol and bytes: a store of objects under a table's root.

Protocol: the log needs of its storage atomic visibility of files, mutual exclusion of creators (put-if-absent) and
listing by name. Keys are paths relative to the table's root, ``/``-separated and not percent-encoded. Absolute
locations that a log names (shallow clones, absolute deletion vectors) go through `LogStore.elsewhere`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, Protocol

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from explorer.core.protocol.arrow.arrays import Int64s


class _Seen(Protocol):
    """A file whose store reports size, modification time and ETag, as `ObjectMeta` has them."""

    @property
    def size(self) -> int: ...

    @property
    def modified(self) -> int: ...

    @property
    def etag(self) -> int: ...


class ObjectMeta(msgspec.Struct, frozen=True, gc=False):
    """One stored object: its key under the root, its size in bytes, and its modification time in ms since the epoch.

    ``etag`` is a number that changes when the object is written again, 0 if the store has none.
    """

    path: str
    size: int
    modified: int
    etag: int = 0


class ListedObjects(Iterable[ObjectMeta]):
    """Objects of one folder in the order of their names, as columns: an `ObjectMeta` is made at first need.

    Args:
        seen: Their facts in the store, as `seen_of` returns them.
        earlier: Looks up those of the same folder that come before them, by the names that it had when these were
            listed, or returns None where it has others now; None if their names are not known.
        folders: Names of the folders in it; None where the store did not report them.

    Attributes:
        sizes: In bytes.
        modified: Modification times, ms since the epoch.
        etags: As of `ObjectMeta`.
    """

    __slots__ = ("_seen", "earlier", "etags", "folder", "folders", "modified", "names", "sizes")

    def __init__(
        self,
        folder: str,
        names: list[str],
        seen: Int64s,
        earlier: Callable[[], ListedObjects | None] | None = None,
        folders: frozenset[str] | None = None,
    ) -> None:
        self.folder, self.names, self._seen, self.earlier = folder, names, seen, earlier
        self.folders = folders
        self.sizes: Int64s
        self.modified: Int64s
        self.etags: Int64s
        self.sizes, self.modified, self.etags = seen

    @classmethod
    def of(cls, folder: str, objects: Iterable[ObjectMeta]) -> ListedObjects:
        """Return the objects of a folder that a store listed."""
        if isinstance(objects, ListedObjects):
            return objects
        listed, letters = list(objects), len(folder) + 1
        return cls(folder, [each.path[letters:] for each in listed], seen_of(listed))

    def __iter__(self) -> Iterator[ObjectMeta]:
        for name, size, modified, etag in self.rows():
            yield ObjectMeta(f"{self.folder}/{name}", size, modified, etag)

    def __len__(self) -> int:
        return len(self.names)

    def rows(self) -> Iterable[tuple[str, int, int, int]]:
        """Return name, size, modification time and ETag of each."""
        return zip(self.names, *self._seen.tolist(), strict=True)

    def row(self, index: int) -> tuple[str, int, int, int]:
        """Return the same of one."""
        size, modified, etag = self._seen[:, index].tolist()
        return self.names[index], size, modified, etag

    def take(self, indexes: Sequence[int]) -> ListedObjects:
        """Return some of them, in their order."""
        if len(indexes) == len(self):
            return self
        names = list(map(self.names.__getitem__, indexes))
        return ListedObjects(self.folder, names, self._seen[:, np.array(indexes, np.int64)])

    def part(self, start: int, stop: int) -> ListedObjects:
        """Return those from a position on, up to another."""
        return ListedObjects(self.folder, self.names[start:stop], self._seen[:, start:stop])

    def with_more(self, others: ListedObjects) -> ListedObjects:
        """Return these, and others of the same folder after them, as a store lists them."""
        seen = np.concatenate([self._seen, others._seen], axis=1)
        return ListedObjects(self.folder, self.names + others.names, seen, folders=others.folders)


def seen_of(files: Sequence[_Seen]) -> Int64s:
    """Return the store's facts of files: a row of their sizes, one of modification times, and one of ETags."""
    sizes = [each.size for each in files]
    return np.array([sizes, [each.modified for each in files], [each.etag for each in files]], np.int64)


def no_objects(folder: str) -> ListedObjects:
    """Return the listing of a folder that is empty or does not exist."""
    return ListedObjects(folder, [], seen_of([]), folders=frozenset())


WITH_ITS_END: Final = 1 << 20
"""Bytes up to which `LogStore.open_sized` fetches a remote object in full, as they take less time than a request."""
BEHIND: Final = 1 << 11
"""Bytes of room after objects in one buffer, so that it need not be copied to append."""


class JoinedObjects(NamedTuple):
    """Objects of lines, one after the other in one buffer; a line break ends each that is not empty.

    Attributes:
        data: The buffer, which can be written; bytes after the last of them are undefined.
        ends: The offset after each, with its line break.
    """

    data: npt.NDArray[np.uint8]
    ends: Sequence[int]


def joined_objects(contents: Sequence[bytes]) -> JoinedObjects:
    """Join the bytes of objects."""
    closed = [data if not data or data.endswith(b"\n") else data + b"\n" for data in contents]
    return JoinedObjects(
        np.frombuffer(bytearray().join([*closed, bytes(BEHIND)]), np.uint8), list(accumulate(map(len, closed)))
    )


class LogStore(Protocol):
    """Objects below one root.

    Before a file is read in full, `explorer.core.protocol.limits.check_file` checks its size.
    Every method raises `explorer.core.errors.StorageError` for failures of the store, except where stated.
    """

    @property
    def root(self) -> str:
        """The root as a URL without a trailing slash, for example ``file:///data/orders``."""
        ...

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        """List the objects directly inside ``folder`` whose name is at or after ``start``, in name order.

        A folder that does not exist lists as empty.
        """
        ...

    def list_tree(self) -> Iterable[str]:
        """List the keys of all objects under the root at any depth, in no order."""
        ...

    def list_files(self, check_cancelled: Callable[[], None] = lambda: None) -> pa.Table:
        """List the objects stored under the root itself, at any depth, in no order.

        Left out are links, targets of a link inside the root (they would have two names), and a file whose
        name is not text.

        Args:
            check_cancelled: Called for each object; what it raises ends the listing.

        Returns:
            path, size (bytes), modified (ms since the epoch).
        """
        ...

    def read(self, path: str) -> bytes:
        """Return an object's bytes; raises FileNotFoundError if there is none."""
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``; raises FileNotFoundError if there is no such object."""
        ...

    def read_parts(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return parts of an object, each from a start to an end that it has, many requests in flight at once."""
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """Open an object for reading at random; raises FileNotFoundError if there is none."""
        ...

    def open_sized(self, path: str, size: int) -> pa.NativeFile:
        """Open an object that probably has a size, in bytes; the size of the file is the one that it has.

        As `open_input`; a remote store needs one request, which also fetches the end of the object.
        """
        ...

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Return several objects' bytes in the requested order; raises FileNotFoundError if one is missing."""
        ...

    def read_joined(self, paths: Sequence[str], sizes: Sequence[int]) -> JoinedObjects:
        """Return several objects of lines in the requested order; raises FileNotFoundError if one is missing.

        Args:
            sizes: The bytes that each probably has; a wrong number only takes longer.
        """
        ...

    def read_starts(self, paths: Sequence[str], lengths: Sequence[int]) -> list[bytes]:
        """Return the first bytes of several objects in the requested order, ``lengths`` of each.

        Each is known to have so many; raises FileNotFoundError if one is missing.
        """
        ...

    def check_put_if_absent(self) -> None:
        """Check that `put_if_absent` works here, before a commit relies on it.

        Raises:
            StorageError: It does not; nothing was written, as the fact ``unwritten`` records.
        """
        ...

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Create an object atomically; raises FileExistsError if the name is taken.

        It is durable once this returns. Without ``durable``, a crash of the machine may lose it, or its
        bytes: use that only for files that a reader can recognize as damaged and do without.

        A StorageError with the fact ``unwritten`` means that the object was not created by this call; without it, it
        may have been.
        """
        ...

    def put(self, path: str, data: bytes) -> None:
        """Write an object atomically and durably, in place of one of that name if there is one."""
        ...

    def head(self, path: str) -> ObjectMeta:
        """Return an object's size and time without its bytes; raises FileNotFoundError if there is none."""
        ...

    def delete(self, path: str) -> None:
        """Delete an object; raises FileNotFoundError if there is none."""
        ...

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete objects; those that do not exist do not count. If it fails, some may be deleted."""
        ...

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        """Return the store and key of an absolute, decoded location; raises NotAllowed outside the allowed roots."""
        ...

    def local_path(self, path: str) -> str | None:
        """Return the real path of an object that is a file of this machine; None in any other store.

        A program that reads the file without this store opens that path. Raises NotAllowed outside the allowed roots.
        """
        ...
