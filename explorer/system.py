"""This machine and this program, as the core needs them: clock, identifiers, waiting, and the name in commits."""

from __future__ import annotations

import os
import random
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from explorer.core.compatibility.client_facts import client_facts
from explorer.core.compatibility.my_clients import MyClient, parse_my_clients
from explorer.core.errors import RequestError
from explorer.core.protocol import limits
from explorer.core.transaction.commit_info import ENGINE
from explorer.core.transaction.context import Context
from explorer.core.transaction.row_engine import RowEngine
from explorer.variables import CLIENTS_VARIABLE
from explorer.version import VERSION

# A list of clients has a few lines.
_MOST_BYTES: Final = 1 << 20
# By path: which file was read last, and the clients in it.
_READ: Final[dict[str, tuple[tuple[int, ...] | None, tuple[MyClient, ...]]]] = {}

ENGINE_INFO: Final = f"{ENGINE}/{VERSION}"
"""How commits name the program that wrote them."""


def system_context(rows: RowEngine | None = None, check_source: Callable[[str], None] | None = None) -> Context:
    """Return the context of this process.

    Args:
        rows: The engine of rows.
        check_source: Refuses a source of rows that may not be read.
    """
    return Context(
        clock=lambda: time.time_ns() // 1_000_000,
        new_uuid=uuid.uuid4,
        sleep=time.sleep,
        chance=random.SystemRandom().random,
        engine_info=ENGINE_INFO,
        rows=rows,
        check_source=check_source,
        clients=my_clients(),
    )


def set_limits() -> None:
    """Set the limits of the core that the environment names, in all of this process.

    Raises:
        RequestError: A value is no number of bytes.
    """
    limits.STRICT_TYPES = os.environ.get(limits.STRICT_VARIABLE, "") == "1"
    limits.MAX_CHECKPOINT_BYTES = _bytes_of(limits.CHECKPOINT_VARIABLE, limits.MAX_CHECKPOINT_BYTES)
    limits.MAX_DECODED_BYTES = _bytes_of(limits.DECODED_VARIABLE, limits.MAX_DECODED_BYTES)


def _bytes_of(variable: str, default: int) -> int:
    text = os.environ.get(variable, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise RequestError(
            f"{variable}={text} is not a number of bytes. Give one, such as 8000000000, or unset it.",
            field=variable,
        )
    return int(text)


def my_clients(file: str | os.PathLike[str] | None = None) -> tuple[MyClient, ...]:
    """Return the clients in use, as a file names them; see `explorer.core.compatibility.my_clients`.

    Args:
        file: The file; None for the one that the environment variable `CLIENTS_VARIABLE` names, if it does.

    Raises:
        RequestError: It cannot be read, or names what is not known.
    """
    path = os.fspath(file) if file is not None else os.environ.get(CLIENTS_VARIABLE, "")
    if not path:
        return ()
    try:
        with Path(path).open("rb") as opened:
            return _clients_in(opened, path)
    except OSError as error:
        raise RequestError(
            f"The clients' file {path} cannot be read: {error.strerror}. It is named by --clients or "
            f"{CLIENTS_VARIABLE}.",
            path=path,
        ) from error


def _clients_in(file: BinaryIO, path: str) -> tuple[MyClient, ...]:
    """Return the clients that an open file names; it is read when it is another one than last time, or was changed."""
    status = os.fstat(file.fileno())
    stamp = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    known, clients = _READ.get(path, (None, ()))
    if stamp != known:
        clients = _parsed(file.read(_MOST_BYTES + 1), path)
        _READ[path] = stamp, clients
    return clients


def _parsed(data: bytes, path: str) -> tuple[MyClient, ...]:
    if len(data) > _MOST_BYTES:
        raise RequestError(
            f"The clients' file {path} has more than {_MOST_BYTES:,} bytes, the most that are read. It is named by "
            f"--clients or {CLIENTS_VARIABLE}.",
            path=path,
        )
    try:
        return parse_my_clients(data, client_facts())
    except RequestError as error:
        raise error.with_facts(path=path) from error
