"""Standard output, whose failures are typed: a full disk is not a bug.

Every way to print ends in one place, the file under ``sys.stdout``. Invariant: what fails there is a `StorageError`,
except a broken pipe, after which nothing reads what is printed.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, TextIO

from explorer.core.errors import StorageError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["typed_output"]


def typed_output(given: TextIO | None) -> TextIO:
    """The same output, with typed failures; as it is if it is no file of the system.

    None, which Python has where standard output is closed, is an output that fails when it is written to.
    """
    if given is None:
        return io.TextIOWrapper(io.BufferedWriter(_OutputFile(os.open(os.devnull, os.O_RDONLY), "wb")))
    if not isinstance(given, io.TextIOWrapper):
        return given
    given.flush()
    file = _OutputFile(given.fileno(), "wb", closefd=False)
    # Python runs unbuffered if it was asked to.
    buffer: io.FileIO | io.BufferedWriter = file if given.write_through else io.BufferedWriter(file)
    return io.TextIOWrapper(
        buffer,
        encoding=given.encoding,
        errors=given.errors,
        line_buffering=given.line_buffering,
        write_through=given.write_through,
    )


class _OutputFile(io.FileIO):
    """A file of the system that says that it is standard output."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, and return how many.

        Raises:
            BrokenPipeError: Nobody reads them.
            StorageError: They cannot be written.
        """
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StorageError(
                f"Standard output cannot be written: {error.strerror}. Make room there, or send it elsewhere."
            ) from error
