"""The files beside a report: read and written whole, with errors that name them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from explorer.core.errors import RequestError, StorageError
from explorer.storage.written_aside import written_aside

if TYPE_CHECKING:
    from explorer.auditing.report.case_file import CaseFile

__all__ = ["read_case_file", "read_whole", "save_whole", "signature_of"]


def read_whole(path: Path) -> bytes:
    """Read a file.

    Raises:
        RequestError: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error


def save_whole(path: Path, data: bytes) -> None:
    """Write a file; it appears whole or not at all.

    Raises:
        StorageError: It cannot be written.
    """
    try:
        with written_aside(str(path)) as file:
            file.write(data)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", path=str(path)) from error


def signature_of(path: Path) -> Path:
    """The place of the signature of a file."""
    return path.with_name(path.name + ".sig")


def read_case_file(path: Path) -> CaseFile:
    """Read a case file."""
    from explorer.auditing.report.case_file import read_case

    return read_case(read_whole(path), str(path))
