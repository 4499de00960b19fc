"""The registry of storages: one row for each scheme of a URL.

A new storage is its implementation, with a function that opens it, and a row here. All else reads the row: what opens
a location, how rows of its tables reach Spark, which environment variables hold its credentials, and the texts that
list what a location may be. Invariant: a path without ``://`` is a file's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.core.errors import RequestError
from explorer.core.protocol.log_store import LogStore
from explorer.storage.local import open_folder
from explorer.storage.memory import open_memory
from explorer.storage.object_stores import open_bucket
from explorer.storage.roots import AllowedRoots, Opener, is_url

if TYPE_CHECKING:
    from explorer.storage.served_root import ServedRoot
    from explorer.storage.table_search.folder_tree import FolderTree

Rows = Literal["on disk", "fetched", "copied"]


@dataclass(frozen=True, slots=True)
class Scheme:
    """What this program knows of the URLs that begin in one way.

    Attributes:
        name: What is before ``://``.
        open: Opens the store of a table: its URL or path, the storage options, what opens other locations that the
            log names, and the allowed places. Raises RequestError if the options do not fit.
        rows: How the bytes of data files reach Spark. ``on disk``: it opens the path. ``fetched``: it reads by itself
            where it can, else its tasks read from the store, which is an `explorer.storage.objects.ObjectLogStore`.
            ``copied``: from a copy on disk, as the store is of this process alone.
        spark_scheme: The scheme under which Spark addresses its files; None if Spark has no file system for it.
        file_system: The Java class of that file system, which a session may lack; None if it needs none.
        listed: Whether texts that say what a location may be list it; other spellings of a storage are not listed.
        persistent: Whether its tables outlive the process.
        environment: How the environment variables begin that hold its credentials; empty if it needs none.
        folders: Opens the folders below a root, to search them for tables; None if the root's store lists them, which
            every `explorer.storage.objects.ObjectLogStore` does.
    """

    name: str
    open: Callable[[str, Mapping[str, Any], Opener, AllowedRoots | None], LogStore]
    rows: Rows = "fetched"
    spark_scheme: str | None = None
    file_system: str | None = None
    listed: bool = False
    persistent: bool = True
    environment: str = ""
    folders: Callable[[ServedRoot], FolderTree] | None = None


def _local_folders(root: ServedRoot) -> FolderTree:
    # Late, as most commands search for no tables.
    from explorer.storage.table_search.local_folders import LocalFolders

    return LocalFolders(root)


_S3: Final = partial(open_bucket, environment="AWS_")
_GOOGLE: Final = partial(open_bucket, environment="GOOGLE_")
_AZURE: Final = partial(open_bucket, environment="AZURE_")
_S3A: Final = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_GCS: Final = "com.google.cloud.hadoop.fs.gcs.GoogleHadoopFileSystem"
_ABFS: Final = "org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem"
_ABFSS: Final = "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem"

SCHEMES: Final = {
    row.name: row
    for row in (
        Scheme("file", open_folder, "on disk", listed=True, folders=_local_folders),
        Scheme("s3", _S3, spark_scheme="s3a", file_system=_S3A, listed=True, environment="AWS_"),
        Scheme("s3a", _S3, spark_scheme="s3a", file_system=_S3A, environment="AWS_"),
        Scheme("gs", _GOOGLE, spark_scheme="gs", file_system=_GCS, listed=True, environment="GOOGLE_"),
        Scheme("az", _AZURE, listed=True, environment="AZURE_"),
        Scheme("abfs", _AZURE, spark_scheme="abfs", file_system=_ABFS, environment="AZURE_"),
        Scheme("abfss", _AZURE, spark_scheme="abfss", file_system=_ABFSS, environment="AZURE_"),
        Scheme("adl", _AZURE, environment="AZURE_"),
        Scheme("memory", open_memory, "copied", listed=True, persistent=False),
    )
}
STORAGES: Final = {row.name: row.environment or row.name for row in SCHEMES.values()}
"""The storage of each scheme: several may lead to one."""


def scheme_of(location: str) -> Scheme:
    """Return the row of a path or URL.

    Raises:
        RequestError: The URL's scheme is not known.
    """
    scheme = known_scheme(location)
    if scheme is None:
        raise RequestError(
            f"Unknown URL scheme in {location!r}. Give a folder, or a URL that starts with {spellings()}.",
            location=location,
        )
    return scheme


def known_scheme(location: str) -> Scheme | None:
    """Return the row of a path or URL; None if there is none for its scheme."""
    return SCHEMES.get(location.partition("://")[0].lower()) if is_url(location) else SCHEMES["file"]


def spellings(*, persistent: bool = False) -> str:
    """Return how a URL may begin, for people: ``file://, s3://, gs://, az:// or memory://``."""
    *most, last = [f"{row.name}://" for row in SCHEMES.values() if row.listed and (row.persistent or not persistent)]
    return f"{', '.join(most)} or {last}"
