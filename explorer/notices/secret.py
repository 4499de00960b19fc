"""Secrets of channels: in a file that its owner alone can read, or in an environment variable."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from explorer.core.errors import RequestError

_MOST_BYTES: Final = 64 * 1024


def read_secret(place: str | None, variable: str, field: str) -> str:
    """Return a secret; empty if there is neither a file nor a variable. It is read at each use, so it can be replaced.

    Args:
        place: The file; None for that of the variable.
        variable: The name of the environment variable.
        field: The key of the configuration that names the file, for errors.

    Raises:
        RequestError: The file cannot be read, or others can read it.
    """
    if place is None:
        return os.environ.get(variable, "").strip()
    try:
        with Path(place).open("rb") as file:
            if os.fstat(file.fileno()).st_mode & 0o077:
                raise RequestError(
                    f"Other users of this machine can open the secret in {place}. Run: chmod 600 {place}", path=place
                )
            return file.read(_MOST_BYTES).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise RequestError(f"The secret in {place} cannot be read: {reason}. Check {field}.", path=place) from error
