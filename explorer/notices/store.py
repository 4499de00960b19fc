"""The file of the notices: a database of SQLite that its owner alone can read, and that several programs may share.

Invariants: what a transaction wrote is on the disk when it ends, and nothing of one that failed is; a file of another
version of this program is refused, not changed.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from explorer.core.errors import StorageError
from explorer.storage.own_folder import make_own_folder

NAME: Final = "notices.sqlite"
_PATIENCE: Final = 10.0
"""Seconds to wait for another program that writes."""
_EDITION: Final = 1
_SCHEMA: Final = """
CREATE TABLE notice (
    key TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, document BLOB NOT NULL, state TEXT NOT NULL, person TEXT NOT NULL,
    reason TEXT NOT NULL, snoozed_until INTEGER, changed INTEGER NOT NULL, round INTEGER NOT NULL,
    raised INTEGER NOT NULL
);
CREATE TABLE channel (
    name TEXT PRIMARY KEY, since INTEGER NOT NULL, paused_from INTEGER NOT NULL, paused_until INTEGER NOT NULL
);
CREATE TABLE told (
    channel TEXT NOT NULL, key TEXT NOT NULL, round INTEGER NOT NULL, PRIMARY KEY (channel, key)
);
CREATE TABLE delivery (
    id TEXT PRIMARY KEY, channel TEXT NOT NULL, body BLOB NOT NULL, urgency INTEGER NOT NULL, status TEXT NOT NULL,
    tries INTEGER NOT NULL, since INTEGER NOT NULL, due INTEGER NOT NULL, answer TEXT NOT NULL, made INTEGER NOT NULL
);
CREATE TABLE watched (place TEXT PRIMARY KEY, document BLOB NOT NULL);
"""


class NoticeStore:
    """The file; its methods may be called from any thread.

    Args:
        folder: The folder of it; it is made, for its owner alone, at the first write.

    Attributes:
        path: The file.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder).absolute() / NAME

    @property
    def exists(self) -> bool:
        """Whether anything was written yet.

        Raises:
            StorageError: This user may not look into the folder.
        """
        with self._failing("read"):
            return self.path.exists()

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what differs once another transaction has written the file; None if nothing was written yet.

        The file itself is not opened: to close it again would end the locks of this process on it.

        Raises:
            StorageError: This user may not look into the folder.
        """
        with self._failing("read"):
            try:
                status = self.path.stat()
            except FileNotFoundError:
                return None
            return status.st_ino, status.st_mtime_ns, status.st_size

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Return a connection to read with; None if nothing was written yet.

        Raises:
            StorageError: It cannot be read.
        """
        if not self.exists:
            yield None
            return
        with self._failing("read"), self._connected() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Return a connection in a transaction, which ends with the block.

        Raises:
            StorageError: It cannot be written; nothing of the transaction is there then.
        """
        with self._failing("written"):
            self._make()
            with self._connected() as connection:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise

    @contextmanager
    def sending(self) -> Iterator[bool]:
        """Hold the right to send, which one program has at a time; False if another one has it. It ends with it."""
        with self._failing("written"):
            self._make()
            lock = os.open(
                self.path.with_name("sending.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(lock)

    def _make(self) -> None:
        if self.exists:
            return
        make_own_folder(self.path.parent)
        # SQLite gives its journal the permissions of the file.
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            self._prepare(connection)
            yield connection
        finally:
            connection.close()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        def edition() -> int:
            return int(connection.execute("PRAGMA user_version").fetchone()[0])

        if edition() == 0:
            connection.execute("BEGIN IMMEDIATE")
            try:
                if edition() == 0:
                    for statement in filter(str.strip, _SCHEMA.split(";")):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA user_version = {_EDITION}")
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
        if edition() != _EDITION:
            raise StorageError(
                f"The notices in {self.path} are of another version of this program. Use that version, or name another "
                "folder with notices.folder.",
                path=str(self.path),
                reason="notices",
            )

    @contextmanager
    def _failing(self, verb: str) -> Iterator[None]:
        """Turn errors of the system and of SQLite into typed ones."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            damaged = not isinstance(error, sqlite3.OperationalError)
            step = (
                "Restore it from a backup, or move it away to begin with another one."
                if damaged
                else "Nothing was changed. Make room or correct the permissions, or name another folder with "
                "notices.folder."
            )
            raise StorageError(
                f"The notices in {self.path} cannot be {verb}: {error}. {step}", path=str(self.path), reason="notices"
            ) from error
        except OSError as error:
            raise StorageError(
                f"The notices in {self.path} cannot be {verb}: {error.strerror or error}. Nothing was changed. Make "
                "room or correct the permissions, or name another folder with notices.folder.",
                path=str(self.path),
                reason="notices",
            ) from error
