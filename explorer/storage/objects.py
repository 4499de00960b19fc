"""A `LogStore` over obstore: S3, GCS, Azure and memory."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from explorer.core.errors import LimitExceeded, StorageError
from explorer.core.protocol.limits import check_file
from explorer.core.protocol.log_store import JoinedObjects, LogStore, ObjectMeta, joined_objects
from explorer.core.protocol.times import milliseconds
from explorer.credentials import concealed
from explorer.storage.local_tree import file_table
from explorer.storage.ranged_file import ranged_file
from explorer.storage.roots import Opener

if TYPE_CHECKING:
    from obstore.store import ObjectStore

__all__ = ["ObjectLogStore"]


_IN_FLIGHT: Final = 256
_AskedT = TypeVar("_AskedT")


class ObjectLogStore:
    """Objects below a prefix of an object store.

    Args:
        store: An obstore store.
        root: The table's root as a URL.
        opener: Opens an absolute location that the log names.
        prefix: The root's key inside the store, without slashes at its ends.
        configured: True if the store was opened with options, which others do not know.
        secrets: Texts that no error may hold.

    Attributes:
        configured, secrets: As given.
    """

    def __init__(
        self,
        store: ObjectStore,
        root: str,
        opener: Opener,
        prefix: str = "",
        *,
        configured: bool = False,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.configured = configured
        self.secrets = secrets
        self._store = store
        self._opener = opener
        self._root = root.rstrip("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    @property
    def root(self) -> str:
        """The root as a URL."""
        return self._root

    def sendable(self, path: str) -> tuple[ObjectStore, str]:
        """The obstore store and the key of an object, to be sent to another process; it holds the credentials."""
        return self._store, self._prefix + path

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        """List the objects directly inside a folder from a name on, in name order."""
        import obstore

        prefix = f"{self._prefix}{folder}"
        # The offset is exclusive: one character less than the name asked for, so that the name itself is listed.
        offset = f"{prefix}/{start[:-1]}" if start else None
        found: list[ObjectMeta] = []
        try:
            for batch in obstore.list(self._store, prefix, offset=offset):
                for item in batch:
                    name = item["path"][len(prefix) + 1 :]
                    if "/" not in name and name >= start:
                        modified = milliseconds(item["last_modified"])
                        found.append(ObjectMeta(f"{folder}/{name}", item["size"], modified, _etag(item)))
        except FileNotFoundError:
            return []
        except Exception as error:
            raise self._failed("list", folder, error) from error
        return sorted(found, key=lambda item: item.path)

    def list_tree(self) -> Iterable[str]:
        """List the keys of all objects under the root."""
        import obstore

        skipped = len(self._prefix)
        try:
            for batch in obstore.list(self._store, self._prefix.rstrip("/") or None, chunk_size=1000):
                yield from [item["path"][skipped:] for item in batch]
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._failed("list", "", error) from error

    def list_files(self) -> pa.Table:
        """List what is stored under the root."""
        import obstore

        skipped = len(self._prefix)
        found: list[Any] = []
        try:
            for batch in obstore.list(self._store, self._prefix.rstrip("/") or None, chunk_size=1000):
                found += [(item["path"][skipped:], item["size"], item["last_modified"]) for item in batch]
        except FileNotFoundError:
            found = []
        except Exception as error:
            raise self._failed("list", "", error) from error
        times = [milliseconds(modified) for _, _, modified in found]
        return file_table([path for path, _, _ in found], [size for _, size, _ in found], times)

    def read(self, path: str) -> bytes:
        """Return an object's bytes."""
        import obstore

        try:
            result = obstore.get(self._store, self._prefix + path)
            check_file(path, result.meta["size"])
            return bytes(result.bytes())
        except (FileNotFoundError, LimitExceeded):
            raise
        except Exception as error:
            raise self._failed("read", path, error) from error

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``."""
        return self.read_part(path, offset, min(offset + length, self.head(path).size))

    def read_part(self, path: str, start: int, end: int) -> bytes:
        """Return a part of an object, in one request; the object is known to hold it."""
        import obstore

        try:
            return (
                bytes(obstore.get_range(self._store, self._prefix + path, start=start, end=end)) if end > start else b""
            )
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._failed("read", path, error) from error

    def open_input(self, path: str) -> pa.NativeFile:
        """Open an object for reading at random."""
        size = self.head(path).size
        return pa.PythonFile(ranged_file(partial(self.read_part, path), size), mode="r")

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """Return several objects' bytes, many requests in flight at once."""
        return [self.read(path) for path in paths] if len(paths) < 2 else self._in_flight(self._read_whole, paths)

    def read_joined(self, paths: Sequence[str], sizes: Sequence[int]) -> JoinedObjects:
        """Return several objects of lines, many requests in flight at once."""
        del sizes
        return joined_objects(self.read_many(paths))

    def read_starts(self, paths: Sequence[str], lengths: Sequence[int]) -> list[bytes]:
        """Return the first bytes of several objects, many requests in flight at once."""
        return self._in_flight(self._read_start, list(zip(paths, lengths, strict=True)))

    def _in_flight(
        self, read: Callable[[_AskedT], Coroutine[Any, Any, bytes]], asked: Sequence[_AskedT]
    ) -> list[bytes]:
        """Read several objects, many requests in flight at once."""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor

        async def read_all() -> list[bytes]:
            places = asyncio.Semaphore(_IN_FLIGHT)

            async def in_turn(each: _AskedT) -> bytes:
                async with places:
                    return await read(each)

            return await asyncio.gather(*map(in_turn, asked))

        # A thread of its own: the caller may itself run in an event loop, as notebooks and servers do.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(read_all())).result()

    async def _read_whole(self, path: str) -> bytes:
        import obstore

        try:
            result = await obstore.get_async(self._store, self._prefix + path)
            check_file(path, result.meta["size"])
            return bytes(await result.bytes_async())
        except (FileNotFoundError, LimitExceeded):
            raise
        except Exception as error:
            raise self._failed("read", path, error) from error

    async def _read_start(self, asked: tuple[str, int]) -> bytes:
        import obstore

        path, length = asked
        if not length:
            return b""
        try:
            found = await obstore.get_range_async(self._store, self._prefix + path, start=0, length=length)
            return bytes(found)
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._failed("read", path, error) from error

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Create an object by a conditional put; it is durable in any case."""
        import obstore
        from obstore import exceptions

        del durable
        try:
            obstore.put(self._store, self._prefix + path, data, mode="create")
        except exceptions.AlreadyExistsError as error:
            raise FileExistsError(path) from error
        except (
            FileNotFoundError,
            exceptions.InvalidPathError,
            exceptions.NotFoundError,
            exceptions.NotSupportedError,
            exceptions.PermissionDeniedError,
            exceptions.UnauthenticatedError,
        ) as error:
            # The store refused. Any other failure may have come after it had taken the object.
            raise self._failed("write", path, error, unwritten=True) from error
        except Exception as error:
            raise self._failed("write", path, error) from error

    def put(self, path: str, data: bytes) -> None:
        """Write an object, in place of one of that name; stores show the old one or the new one, nothing between."""
        import obstore

        try:
            obstore.put(self._store, self._prefix + path, data)
        except Exception as error:
            raise self._failed("write", path, error) from error

    def head(self, path: str) -> ObjectMeta:
        """Return an object's size and modification time."""
        import obstore

        try:
            item = obstore.head(self._store, self._prefix + path)
        except FileNotFoundError:
            raise
        except Exception as error:
            raise self._failed("look at", path, error) from error
        return ObjectMeta(path, item["size"], milliseconds(item["last_modified"]), _etag(item))

    def delete(self, path: str) -> None:
        """Delete an object."""
        import obstore

        self.head(path)
        try:
            obstore.delete(self._store, self._prefix + path)
        except Exception as error:
            raise self._failed("delete", path, error) from error

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete objects, many in one request if the store allows it."""
        import obstore

        try:
            obstore.delete(self._store, [self._prefix + path for path in paths])
        except FileNotFoundError:
            for path in paths:
                with suppress(FileNotFoundError):
                    self.delete(path)
        except Exception as error:
            raise self._failed("delete", paths[0], error) from error

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        """Return the store and key of an absolute location."""
        return self._opener(location)

    def local_path(self, path: str) -> None:
        """Return None: an object has no path on this machine."""

    def _failed(self, action: str, path: str, error: Exception, *, unwritten: bool = False) -> StorageError:
        said = str(error)
        if (harmless := concealed(said, self.secrets)) != said:
            # The cause is shown in tracebacks, and a store's answer may repeat what it was sent.
            error.args = (harmless,)
        reason = harmless.split("\n", 1)[0]
        return StorageError(
            f"Cannot {action} {self._root}/{path}: {reason}. Check the address, the network and the credentials.",
            path=path,
            unwritten=unwritten or None,
        )


def _etag(item: Any) -> int:
    """The ETag of a listed object as a number, 0 without one."""
    tag = item["e_tag"]
    return 0 if not tag else int.from_bytes(blake2b(tag.encode(), digest_size=7).digest())
