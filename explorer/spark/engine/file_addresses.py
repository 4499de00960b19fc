"""Where Spark finds a data file, and how Spark names it.

Protocol section: Add File (``path``). Two spellings matter. Spark is *given* an unquoted path in which ``*?[]{}\\`` are
pattern characters; it *gives back* ``_metadata.file_path`` quoted as Java quotes a URI. Invariants: each live file gets
exactly one address; a local file that is missing, or of another size than the log says, is an error that names it,
before Spark sees it; a file that Spark's own reader would skip or cannot reach is refused before it reads.
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from explorer.core.errors import StorageError, UnsupportedFeature
from explorer.core.protocol.file_locations import sizeless
from explorer.core.protocol.log_store import LogStore
from explorer.first_rows.file_rows import missing_file, wrong_size
from explorer.storage.schemes import Scheme

# java.net.URI leaves these as they are in a path; it quotes other ASCII, but no letters beyond ASCII.
_LEGAL: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-!.~'()*/:@&=+$,;")
_QUOTED_CATEGORIES: Final = frozenset({"Cc", "Zs", "Zl", "Zp"})
_GLOB: Final = re.compile(r"([*?\[\]{}\\])")


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file in an object store, as a Spark task can read it without Spark's reader.

    Attributes:
        store: An obstore store, which holds the credentials and can be sent to another process.
        key: The file's key in it.
        size: Its size in bytes by the log, or None.
        scheme: How its URL begins.
        configured: True if the store was opened with options, which Spark does not know.
        secrets: Texts that no error may contain.
    """

    store: Any
    key: str
    size: int | None
    scheme: Scheme
    configured: bool
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"RemoteFile({self.key!r})"


@dataclass(frozen=True, slots=True)
class FileAddress:
    """One data file as Spark must address it.

    Attributes:
        raw_path: The path as in the log: the file's key.
        local: Path on this machine, or None for a file in an object store.
        reader_path: What the reader is given, pattern characters escaped.
        metadata_path: The value of ``_metadata.file_path``.
        remote: How a task can read it without Spark's reader; None for a local file.
    """

    raw_path: str
    local: str | None
    reader_path: str
    metadata_path: str
    remote: RemoteFile | None = None


def remote_address(raw_path: str, location: str, remote: RemoteFile) -> FileAddress:
    """Return the address of a file in an object store, by its URL."""
    scheme = remote.scheme.spark_scheme or remote.scheme.name
    bucket, _, key = location.partition("://")[2].partition("/")
    reader_path, metadata_path = (f"{scheme}://{bucket}/{spelt}" for spelt in (escaped(key), java_uri(key)))
    return FileAddress(raw_path, None, reader_path, metadata_path, remote)


def local_address(raw_path: str, real_path: str, *, alias: bool = False) -> FileAddress:
    """Return the address of a file on this machine.

    Args:
        raw_path: The path as in the log.
        real_path: Its absolute path without links, as the table's store gives it.
        alias: Another file of the log has the same real path, so Spark gets this one under another name.
    """
    readable = _readable_link(real_path, raw_path) if alias or is_hidden(real_path) else real_path
    return FileAddress(raw_path, real_path, "file:" + escaped(readable), "file:" + java_uri(readable))


def local_path(store: LogStore, key: str) -> str:
    """Return the real path of a file on this machine; the store checks that it may be read.

    Raises:
        NotAllowed: A link leads outside the places that may be read.
        StorageError: No file can have such a name.
    """
    try:
        path = store.local_path(key)
    except FileNotFoundError as error:
        raise StorageError(
            f"The data file {key!r} does not exist: {error.strerror}. The log was written by a faulty client; remove "
            "the file from the table.",
            path=key,
        ) from error
    assert path is not None, f"{store.root} is a folder of this machine"
    return path


def check_readable(addresses: Sequence[FileAddress]) -> None:
    """Check that Spark's own reader can read files in object stores.

    Raises:
        UnsupportedFeature: Spark has no file system for the location, or would skip a file of that name.
    """
    for address in addresses:
        if address.remote is None:
            continue
        scheme = address.remote.scheme
        if scheme.spark_scheme is None:
            raise UnsupportedFeature(
                f"Spark cannot read rows from {address.metadata_path}: it has no file system for {scheme.name}://. "
                "Everything except rows works. To read rows, copy the table to a file system or an object store.",
                features=[f"{scheme.name}://"],
                operation="read rows",
            )
        if is_hidden(address.reader_path):
            raise UnsupportedFeature(
                f"Spark skips a file of this name: {address.metadata_path}. It treats names that begin with _ or . as "
                "hidden files. Rewrite the file under another name, for example with OPTIMIZE.",
                features=["hidden file name"],
                operation="read rows",
                path=address.raw_path,
            )


def check_present(addresses: Sequence[FileAddress], sizes: Sequence[int | None], version: int) -> None:
    """Check that local files exist and have the size that the log states.

    Args:
        sizes: Their sizes in bytes by the log, in the same order.
        version: Version of the snapshot, for the error.

    Raises:
        StorageError: A file is missing.
        CorruptTable: A file has another size, or none by the log.
    """
    for address, size in zip(addresses, sizes, strict=True):
        if size is None:
            raise sizeless(address.raw_path)
        if address.local is None:
            continue
        try:
            actual = os.stat(address.local).st_size
        except OSError as error:
            raise missing_file(address.raw_path, version, str(error.strerror)) from error
        if size != actual:
            raise wrong_size(address.raw_path, version, actual, size)


def java_uri(path: str) -> str:
    """Quote a path as ``java.net.URI`` does, which is how Spark spells ``_metadata.file_path``."""
    if _LEGAL.issuperset(path):
        return path
    return "".join(_quoted_character(character) for character in path)


def _quoted_character(character: str) -> str:
    if character in _LEGAL:
        return character
    if ord(character) >= 128 and unicodedata.category(character) not in _QUOTED_CATEGORIES:
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def escaped(path: str) -> str:
    """Return a path as Spark's reader takes it for one file: characters of patterns are escaped."""
    return _GLOB.sub(r"\\\1", path)


def is_hidden(location: str) -> bool:
    """Return True for a name that Spark takes for a hidden file, or that Hadoop cannot open on a local disk."""
    name = location.rpartition("/")[2]
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")
    return hidden or (":" in name and location.startswith("/"))


def _readable_link(location: str, raw_path: str) -> str:
    """Link to a file under a name that Spark reads, for this path of the log; it lives as long as this process."""
    known = f"{location}\0{raw_path}".encode("utf-8", "surrogatepass")
    link = os.path.join(_link_folder(), sha256(known).hexdigest() + ".parquet")
    if not os.path.lexists(link):
        os.symlink(location, link)
    return link


@functools.cache
def _link_folder() -> str:
    folder = tempfile.mkdtemp(prefix="delta-table-explorer-links-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
