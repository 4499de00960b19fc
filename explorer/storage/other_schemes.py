"""Addresses of storages that this program does not open, and of its own with a slash too few: refused by name.

Invariant: what begins like an address of a storage is never taken for a folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from explorer.core.errors import RequestError

_HADOOP: Final = (
    "It is a file system of Hadoop, for which this program has no client. Mount it, for example by its NFS gateway, "
    "and give the folder; or copy the table to a store."
)
_LIKE_S3: Final = (
    "Give s3://BUCKET/FOLDER, and set the storage options aws_endpoint to the address of the store and the keys: it "
    "speaks the protocol of S3."
)
_DATABRICKS: Final = (
    "It is a path inside a Databricks workspace, which only its clusters open. Give the address of the storage behind "
    "it, s3://, abfss:// or gs://, as DESCRIBE DETAIL shows it under location."
)
_WEB: Final = "Give the address of the store itself: s3://BUCKET/FOLDER, az://CONTAINER/FOLDER or gs://BUCKET/FOLDER."
_FILES: Final = "Copy the table to a folder or to an object store, and give that."
_GLUE: Final = (
    "A name in AWS Glue is that of one table: glue://DATABASE.TABLE. Commands and open_table take it; elsewhere give "
    "the table's location: aws glue get-table shows it under StorageDescriptor.Location."
)
_ADVICE: Final[Mapping[str, str]] = {
    "dbfs": _DATABRICKS,
    **dict.fromkeys(["hdfs", "webhdfs", "swebhdfs", "viewfs", "maprfs", "alluxio", "o3fs", "ofs", "har"], _HADOOP),
    **dict.fromkeys(["r2", "minio", "oss", "cos", "cosn", "obs", "tos", "b2", "wasabi", "lakefs", "swift"], _LIKE_S3),
    **dict.fromkeys(["http", "https"], _WEB),
    **dict.fromkeys(["ftp", "ftps", "sftp", "ssh", "smb", "nfs"], _FILES),
    "glue": _GLUE,
}
"""What to do instead, by the name of the scheme."""
_RENAMED: Final[Mapping[str, str]] = {
    "s3n": "s3",
    "gcs": "gs",
    "azure": "az",
    "adls": "az",
    "wasb": "abfs",
    "wasbs": "abfss",
}
"""Other names of schemes that this program opens."""
_OWN: Final = frozenset({"s3", "s3a", "gs", "az", "abfs", "abfss", "adl", "memory"})
# A folder may have a colon in its name; but no word of letters, a colon, and a slash begins a path that people give.
_ADDRESS: Final = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9+.\-]*):(?P<slashes>/*)(?P<rest>.*)", re.DOTALL)
_WEB_PLACES: Final = (
    (re.compile(r"(?P<bucket>[\w.\-]+)\.s3(?:[.\-][\w\-]+)?\.amazonaws\.com/(?P<key>.*)"), "s3://{bucket}/{key}"),
    (re.compile(r"s3(?:[.\-][\w\-]+)?\.amazonaws\.com/(?P<bucket>[^/]+)/(?P<key>.*)"), "s3://{bucket}/{key}"),
    (re.compile(r"storage\.googleapis\.com/(?P<bucket>[^/]+)/(?P<key>.*)"), "gs://{bucket}/{key}"),
    (
        re.compile(r"(?P<account>\w+)\.(?:blob|dfs)\.core\.windows\.net/(?P<bucket>[^/]+)/(?P<key>.*)"),
        "abfss://{bucket}@{account}.dfs.core.windows.net/{key}",
    ),
)


def check_address(location: str) -> None:
    """Refuse an address of another storage, or one with a slash too few.

    Raises:
        RequestError: It is one; the message says what to give instead.
    """
    parts = _ADDRESS.match(location)
    if parts is None:
        return
    name, mistyped = parts["name"].lower(), len(parts["slashes"]) < 2
    known = name in _OWN or name in _ADVICE or name in _RENAMED
    begins = mistyped and (known or (len(name) > 1 and parts["slashes"] == "/"))
    if name == "file" or (name in _OWN and not mistyped) or not (known or begins):
        return
    instead = _instead(name, parts["rest"].lstrip("/"))
    advice = f"Write {instead}" if instead else _ADVICE.get(name, "")
    raise RequestError(
        f"{location!r} is not a folder, and not an address that this program opens. "
        + (f"{advice.rstrip('.')}." if advice else "An address has two slashes, as in s3://BUCKET/FOLDER.")
        + (f" A folder of that name is given as ./{name}:..." if mistyped else ""),
        location=location,
        nearest=instead,
    )


def _instead(name: str, rest: str) -> str | None:
    """Return the address that is meant, where it is certain."""
    if name in _OWN:
        return f"{name}://{rest}" if rest else None
    if name in {"wasb", "wasbs"}:
        return f"{_RENAMED[name]}://{rest.replace('.blob.', '.dfs.', 1)}"
    if name in _RENAMED:
        return f"{_RENAMED[name]}://{rest}"
    if name in {"http", "https"}:
        matches = ((pattern.match(rest), form) for pattern, form in _WEB_PLACES)
        return next((form.format(**match.groupdict()) for match, form in matches if match is not None), None)
    return None
