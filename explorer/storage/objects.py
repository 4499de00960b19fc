"""A `LogStore` over obstore: S3, GCS, Azure and memory."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa

from explorer.core.errors import ExplorerError, StorageError
from explorer.core.log.log_path import LOG_FOLDER
from explorer.core.protocol.limits import check_file
from explorer.core.protocol.log_store import (
    WITH_ITS_END,
    JoinedObjects,
    ListedObjects,
    LogStore,
    ObjectMeta,
    joined_objects,
    no_objects,
    seen_of,
)
from explorer.core.protocol.times import milliseconds
from explorer.credentials import concealed
from explorer.storage.credential_provider import WatchedProvider
from explorer.storage.exclusive_creation import (
    ConditionMissingError,
    CreationProof,
    is_passing_conflict,
    is_plain_refusal,
)
from explorer.storage.local_tree import file_table
from explorer.storage.ranged_file import ranged_file
from explorer.storage.refusals.bucket_region import bucket_region
from explorer.storage.refusals.reasons import Action, names_no_bucket, refusal_of
from explorer.storage.roots import Opener
from explorer.storage.silence import GIVEN_UP, answered, apart, under_way

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_IN_FLIGHT: Final = 256
_TRIES: Final = 3
_READ_BACK: Final = 1 << 20
"""Up to how many bytes an object that was created is read back whole; of a larger one its tag is compared first."""
# Bytes at the end of an object that are fetched when it is opened: most footers are shorter.
_END: Final = 1 << 16
_AskedT = TypeVar("_AskedT")
_AnswerT = TypeVar("_AnswerT")


class ObjectLogStore:
    """Objects below a prefix of an object store.

    Args:
        opener: Opens an absolute location that the log names.
        prefix: The root's key inside the store, without slashes at its ends.
        configured: True if the store was opened with options, which others do not know.
        secrets: Texts that no error may contain, longest first.
        provider: Gives the store its credentials; None if it has those of its options or of the environment.
        check: Raises a `StorageError` if nobody gives them; called before the first request.
        creation: Proves that a name is created only once; None for a store that this process implements itself.

    Attributes:
        configured: As given.
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
        provider: WatchedProvider | None = None,
        check: Callable[[], None] | None = None,
        creation: CreationProof | None = None,
    ) -> None:
        self.configured = configured
        self._secrets = secrets
        self._provider = provider
        self._opened = store
        self._check = check
        self._opener = opener
        self._creation = creation
        self._root = root.rstrip("/")
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    @property
    def root(self) -> str:
        """The root as a URL."""
        return self._root

    @cached_property
    def _store(self) -> ObjectStore:
        if self._check is not None:
            self._check()
        return self._opened

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that no error may contain, longest first: those that are known by now."""
        given = () if self._provider is None else self._provider.secrets
        return tuple(sorted((*self._secrets, *given), key=len, reverse=True)) if given else self._secrets

    def sendable(self, path: str) -> tuple[ObjectStore, str]:
        """Return the obstore store and the key of an object, for another process; it holds the credentials."""
        return self._store, self._prefix + path

    def list_from(self, folder: str, start: str = "") -> Iterable[ObjectMeta]:
        """List the objects directly inside a folder from a name on, in name order."""
        import obstore

        prefix = f"{self._prefix}{folder}"
        # The offset is exclusive: one character less than the requested name, so that the name itself is listed.
        offset = f"{prefix}/{start[:-1]}" if start else None
        objects: list[ObjectMeta] = []
        folders: set[str] = set()
        try:
            for item in self._listed(folder, lambda: obstore.list(self._store, prefix, offset=offset)):
                name, slash, _ = item["path"][len(prefix) + 1 :].partition("/")
                if slash:
                    folders.add(name)
                elif name >= start:
                    modified = milliseconds(item["last_modified"])
                    objects.append(ObjectMeta(f"{folder}/{name}", item["size"], modified, _etag(item)))
        except FileNotFoundError:
            return no_objects(folder)
        objects.sort(key=lambda item: item.path)
        names = [item.path[len(folder) + 1 :] for item in objects]
        return ListedObjects(folder, names, seen_of(objects), folders=frozenset(folders))

    def list_tree(self) -> Iterable[str]:
        """List the keys of all objects under the root."""
        skipped = len(self._prefix)
        return (item["path"][skipped:] for item in self._all())

    def folders(self, below: str = "") -> list[str]:
        """List the names of the folders directly inside a folder, by requests that end at the next slash."""
        import obstore

        prefix = f"{self._prefix}{below}".rstrip("/")
        try:
            listed = self._asked(lambda: obstore.list_with_delimiter(self._store, prefix or None))
        except Exception as error:
            raise self._failed("list", below, error) from error
        return [each.rstrip("/").rpartition("/")[2] for each in listed["common_prefixes"]]

    def has_folder(self, below: str) -> bool:
        """Return whether anything is stored inside a folder, by one request."""
        import obstore

        pages = iter(obstore.list(self._store, f"{self._prefix}{below}", chunk_size=1))
        try:
            return bool(self._asked(lambda: next(pages, None)))
        except Exception as error:
            raise self._failed("list", "", error) from error

    def list_files(self, check_cancelled: Callable[[], None] = lambda: None) -> pa.Table:
        """List what is stored under the root."""
        skipped = len(self._prefix)
        files = []
        for item in self._all():
            check_cancelled()
            files.append((item["path"][skipped:], item["size"], item["last_modified"]))
        times = [milliseconds(modified) for _, _, modified in files]
        return file_table([path for path, _, _ in files], [size for _, size, _ in files], times)

    def _all(self) -> Iterator[Any]:
        """Yield all objects under the root."""
        import obstore

        below = self._prefix.rstrip("/") or None
        with suppress(FileNotFoundError):
            yield from self._listed("", lambda: obstore.list(self._store, below, chunk_size=1000))

    def _listed(self, folder: str, listing: Callable[[], Iterable[Any]]) -> Iterator[Any]:
        """Yield the objects of a listing, a request for each page."""
        with self._requests("list", folder):
            pages = iter(listing())
            while (page := self._asked(lambda: next(pages, None))) is not None:
                yield from page

    def read(self, path: str) -> bytes:
        """Return an object's bytes."""
        import obstore

        with self._requests("read", path):
            result = self._asked(lambda: obstore.get(self._store, self._prefix + path))
            check_file(path, result.meta["size"])
            return bytes(self._asked(result.bytes))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``offset``, in one request unless the object has none of them."""
        return self._range(path, offset, offset + length)[0]

    def read_part(self, path: str, start: int, end: int) -> bytes:
        """Return a part of an object, in one request; the object is known to hold it."""
        import obstore

        if end <= start:
            return b""
        key = self._prefix + path
        with self._requests("read", path):
            return bytes(self._asked(lambda: obstore.get_range(self._store, key, start=start, end=end)))

    def read_parts(self, path: str, spans: Sequence[tuple[int, int]]) -> list[bytes]:
        """Return parts of an object, many requests in flight at once."""
        import obstore

        if not spans:
            return []
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        key = self._prefix + path
        with self._requests("read", path):
            return list(map(bytes, self._asked(lambda: obstore.get_ranges(self._store, key, starts=starts, ends=ends))))

    def open_input(self, path: str) -> pa.NativeFile:
        """Open an object for reading at random."""
        size = self.head(path).size
        return pa.PythonFile(ranged_file(partial(self.read_part, path), size), mode="r")

    def open_sized(self, path: str, size: int) -> pa.NativeFile:
        """Open an object for reading at random; one request fetches its end, or all of a small one, and its size."""
        start = 0 if size <= WITH_ITS_END else size - _END
        end, actual = self._range(path, start, size)
        if actual != size:
            end = b""

        def fetch(begin: int, stop: int) -> bytes:
            return end[begin - start : stop - start] if end and begin >= start else self.read_part(path, begin, stop)

        return pa.PythonFile(ranged_file(fetch, actual), mode="r")

    def _range(self, path: str, start: int, end: int) -> tuple[bytes, int]:
        """Return the bytes of an object from a start to an end, as far as it has them, and its size."""
        import obstore

        failure = None
        with self._requests("read", path):
            if start < end:
                try:
                    result = obstore.get(self._store, self._prefix + path, options={"range": (start, end)})
                    return bytes(result.bytes()), result.meta["size"]
                except FileNotFoundError:
                    raise
                except Exception as error:  # noqa: BLE001 - it is raised below where the object has such bytes
                    failure = error
            size = self.head(path).size
            if failure is not None and start < size:
                raise failure
        return b"", size

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
        self, read: Callable[[_AskedT], Coroutine[Any, Any, bytes]], requests: Sequence[_AskedT]
    ) -> list[bytes]:
        """Read several objects, many requests in flight at once."""
        import asyncio

        async def read_all() -> list[bytes]:
            places = asyncio.Semaphore(_IN_FLIGHT)

            async def in_turn(each: _AskedT) -> bytes:
                async with places:
                    with under_way(self._root):
                        return await read(each)

            return await asyncio.gather(*map(in_turn, requests))

        # A thread of its own: the caller may itself run in an event loop, as notebooks and servers do.
        return apart(lambda: asyncio.run(read_all()))

    async def _read_whole(self, path: str) -> bytes:
        import obstore

        with self._requests("read", path):
            result = await obstore.get_async(self._store, self._prefix + path)
            check_file(path, result.meta["size"])
            return bytes(await result.bytes_async())

    async def _read_start(self, request: tuple[str, int]) -> bytes:
        import obstore

        path, length = request
        if not length:
            return b""
        with self._requests("read", path):
            return bytes(await obstore.get_range_async(self._store, self._prefix + path, start=0, length=length))

    def check_put_if_absent(self) -> None:
        """Prove that a second create of a name fails; once for a store and process."""
        if self._creation is None:
            return
        try:
            self._creation.check(self._store, self._prefix)
        except ConditionMissingError as error:
            raise self._unsafe(str(error)) from error
        except Exception as error:
            raise self._failed("write", LOG_FOLDER, error, unwritten=True) from error

    def put_if_absent(self, path: str, data: bytes, *, durable: bool = True) -> None:
        """Create an object by a conditional put; it is durable in any case.

        The promise is proved before the first one, the name is checked just before each, and the object is read
        back after it: a store that checks first and writes later may still let two writers through.
        """
        del durable
        self.check_put_if_absent()
        if self._creation is None:
            self._create(path, data)
            return
        if self._is_taken(path):
            raise FileExistsError(path)
        tag = self._create(path, data)
        if not self._holds(path, data, tag):
            self._creation.withdraw()
            raise StorageError(
                f"{self._root}/{path} does not contain what was just written there: another writer overwrote it, "
                "because the store lets two writers create the same name. Check what the object contains before you "
                "continue, and write to this table from only one place at a time.",
                path=path,
            )

    def _create(self, path: str, data: bytes) -> str | None:
        """Create an object by a conditional put, and return its tag."""
        import obstore
        from obstore import exceptions

        for attempt in range(_TRIES):
            try:
                with under_way(self._root):
                    return obstore.put(self._store, self._prefix + path, data, mode="create")["e_tag"]
            except exceptions.AlreadyExistsError as error:
                if is_passing_conflict(error) and not self._is_taken(path):
                    if attempt < _TRIES - 1:
                        continue
                    raise self._failed("write", path, error, unwritten=True) from error
                raise FileExistsError(path) from error
            except Exception as error:
                # A plain no. Any other failure may have come after the store had taken the object.
                raise self._failed("write", path, error, unwritten=is_plain_refusal(error)) from error
        raise AssertionError("the last try returns or raises")

    def _is_taken(self, path: str) -> bool:
        try:
            self.head(path)
        except FileNotFoundError:
            return False
        return True

    def _holds(self, path: str, data: bytes, tag: str | None) -> bool:
        """Return whether an object has the content that was just written to it."""
        import obstore

        try:
            if len(data) > _READ_BACK and tag is not None:
                with self._requests("look at", path):
                    stored = obstore.head(self._store, self._prefix + path)
                if (stored["size"], stored["e_tag"]) == (len(data), tag):
                    return True
            return self.read(path) == data
        except FileNotFoundError:
            return False

    def _unsafe(self, lack: str) -> StorageError:
        return StorageError(
            f"Nothing was written to {self._root}: its store does not keep two writers apart, because {lack}. A commit "
            "there could overwrite the commit of another writer. Write to it through an endpoint that supports "
            "conditional puts, or copy the table to a store that does.",
            path=LOG_FOLDER,
            unwritten=True,
        )

    def put(self, path: str, data: bytes) -> None:
        """Write an object, in place of one of that name; stores show the old one or the new one, nothing between."""
        import obstore

        with self._requests("write", path), under_way(self._root):
            obstore.put(self._store, self._prefix + path, data)

    def head(self, path: str) -> ObjectMeta:
        """Return an object's size and modification time."""
        import obstore
        from obstore import exceptions

        key = self._prefix + path
        with self._requests("look at", path):
            try:
                item = self._asked(lambda: obstore.head(self._store, key))
            except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError, exceptions.GenericError):
                # An answer to this request has no text; the answer to a read says why.
                self._asked(lambda: obstore.get_range(self._store, key, start=0, length=1))
                raise
        return ObjectMeta(path, item["size"], milliseconds(item["last_modified"]), _etag(item))

    def delete(self, path: str) -> None:
        """Delete an object."""
        import obstore

        self.head(path)
        with self._requests("delete", path), under_way(self._root):
            obstore.delete(self._store, self._prefix + path)

    def delete_many(self, paths: Sequence[str]) -> None:
        """Delete objects, many in one request if the store allows it."""
        import obstore

        try:
            with self._requests("delete", paths[0] if paths else ""), under_way(self._root):
                obstore.delete(self._store, [self._prefix + path for path in paths])
        except FileNotFoundError:
            for path in paths:
                with suppress(FileNotFoundError):
                    self.delete(path)

    def elsewhere(self, location: str) -> tuple[LogStore, str]:
        """Return the store and key of an absolute location."""
        return self._opener(location)

    def local_path(self, path: str) -> None:
        """Return None: an object has no path on this machine."""

    def _asked(self, request: Callable[[], _AnswerT]) -> _AnswerT:
        """Return the answer to a request that changes nothing."""
        return request() if self._creation is None else answered(self._root, request)

    @contextmanager
    def _requests(self, action: Action, path: str) -> Iterator[None]:
        """Raise what a request raises as a typed error; an object that does not exist stays a `FileNotFoundError`."""
        try:
            yield
        except (ExplorerError, FileExistsError):
            raise
        except FileNotFoundError as error:
            if names_no_bucket(str(error)):
                raise self._failed(action, path, error) from error
            raise
        except Exception as error:
            raise self._failed(action, path, error) from error

    def _failed(self, action: Action, path: str, error: Exception, *, unwritten: bool = False) -> ExplorerError:
        failure = None if self._provider is None else self._provider.failure
        if isinstance(failure, ExplorerError):
            return failure.with_facts(table=failure.table or self._root)
        message = str(error)
        if (harmless := concealed(message, self.secrets)) != message:
            # The cause is shown in tracebacks, and a store's answer may repeat what it was sent.
            error.args = (harmless,)
        refusal = refusal_of(harmless, given_up=GIVEN_UP)
        if refusal.kind.name == "other-region" and refusal.region is None:
            bucket = self._root.partition("://")[2].partition("/")[0]
            refusal = replace(refusal, region=bucket_region(harmless, bucket))
        return StorageError(
            f"Cannot {action} {self._root}/{path}: {refusal.sentences(action, type(self._opened).__name__)}",
            path=path,
            unwritten=unwritten or None,
            reason=refusal.kind.name,
            code=refusal.code,
        )


def _etag(item: Any) -> int:
    """Return the ETag of a listed object as a number, 0 without one."""
    tag = item["e_tag"]
    return 0 if not tag else int.from_bytes(blake2b(tag.encode(), digest_size=7).digest())
