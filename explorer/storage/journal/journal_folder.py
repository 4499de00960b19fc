"""The journal of maintenance in a folder of the user's own: a file of JSON lines for each table.

Invariants: a line is appended and synced at once, and no line is changed; a line that cannot be read is passed over
with a warning in the program's log, so one broken line hides no other; the folder is for its owner alone; nothing of a
storage option, password or query of a URL gets into it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from explorer.core.errors import StorageError
from explorer.core.maintenance.journal import MaintenanceEntry
from explorer.credentials import without_credentials
from explorer.storage.own_folder import make_own_folder
from explorer.variables import JOURNAL_VARIABLE

_LOGGER: Final = logging.getLogger(__name__)
_DECODER: Final = msgspec.json.Decoder(MaintenanceEntry)
_MOST_BYTES: Final = 256 * 1024 * 1024


class JournalFolder:
    """The entries of all tables of one user.

    Args:
        folder: Where they are kept; it is made at the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __repr__(self) -> str:
        return f"JournalFolder({str(self._folder)!r})"

    def add(self, entry: MaintenanceEntry) -> None:
        """Append an entry and wait until it is on the disk.

        Raises:
            StorageError: It could not be written.
        """
        path = self._path(entry.table)
        line = msgspec.json.encode(msgspec.structs.replace(entry, table=without_credentials(entry.table))) + b"\n"
        try:
            make_own_folder(self._folder)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _failed(path, error, "written") from error

    def entries(self, table: str) -> Sequence[MaintenanceEntry]:
        """Return the entries of a table, the oldest first.

        Raises:
            StorageError: They cannot be read.
        """
        path = self._path(table)
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise OSError(f"it is larger than {_MOST_BYTES:,} bytes")
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise _failed(path, error, "read") from error
        entries = []
        for number, line in enumerate(lines, 1):
            try:
                entries.append(_DECODER.decode(line))
            except (msgspec.DecodeError, UnicodeError) as error:
                _LOGGER.warning("line %d of %s is not an entry of the journal: %s", number, path, error)
        return entries

    def _path(self, table: str) -> Path:
        return self._folder / f"{sha256(without_credentials(table).encode()).hexdigest()[:40]}.jsonl"


def user_journal() -> JournalFolder | None:
    """Return the journal of the user who runs this program, None if it is switched off."""
    chosen = os.environ.get(JOURNAL_VARIABLE, "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return JournalFolder(Path(chosen).expanduser())
    from platformdirs import user_state_path

    return JournalFolder(user_state_path("delta-table-explorer", appauthor=False) / "maintenance")


def _failed(path: Path, error: OSError, done: str) -> StorageError:
    reason = error.strerror or str(error)
    return StorageError(
        f"{path} cannot be {done}: {reason}. Set {JOURNAL_VARIABLE} to a folder that you own, or to off.",
        path=str(path),
        reason=reason,
    )
