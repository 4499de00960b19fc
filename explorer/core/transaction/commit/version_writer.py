"""How the file of a version gets into the log, and whose it is: the one step of a commit that others can take first.

Protocol section: Delta Log Entries (Writer Requirements). Invariants: the file is written only if its name is free
(LOG-005), on a store that was seen to keep that promise; a lost answer of the store is resolved by reading the log for
the commit's own identifier; if that fails too, the outcome is unknown, never guessed.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from explorer.core.errors import StorageError
from explorer.core.log.commit import Commit, decode_commit
from explorer.core.log.log_path import commit_name
from explorer.core.log.table_state import TableState
from explorer.core.protocol.log_store import LogStore
from explorer.core.transaction.commit.conflicts import holds_transaction
from explorer.core.transaction.context import Context

Owner = Literal["ours", "theirs", "absent", "unknown"]
"""Whose the commit of a version is; absent if there is none, as far as is known."""
TRIES: Final = 3
PAUSE: Final = 0.02


class VersionWriter(Protocol):
    """Writes the commit of a version, for one attempt at one plan.

    Attributes:
        in_doubt: Whether a commit was sent whose outcome is not known yet: its files must stay.
        logged: The commit as the log has it, once it is known to be ours.
        notes: What happened on the way, in words.
    """

    in_doubt: bool
    logged: Commit | None
    notes: list[str]

    def check(self) -> None:
        """Check that a version can be taken once only.

        Raises:
            StorageError: It cannot.
        """

    def write(self, version: int, data: bytes, txn_id: str, before: TableState | None) -> Owner:
        """Try to make a commit the one of its version, and find out whose it is.

        Args:
            data: The content of its file.
            txn_id: Its identifier.
            before: The small actions in force before it; None for version 0.

        Raises:
            StorageError: Nothing was committed.
        """

    def publish(self, version: int) -> bool:
        """Do what makes a version readable for everybody, and return whether it is published.

        Whatever happens here, the commit is made; what went wrong is among the notes.
        """


class FileWriter:
    """Writes commits as files of the log, each only if its name is free."""

    def __init__(self, store: LogStore, context: Context) -> None:
        self._store, self._context = store, context
        self.in_doubt = False
        self.logged: Commit | None = None
        self.notes: list[str] = []

    def check(self) -> None:
        """Check that the store creates a name once."""
        self._store.check_put_if_absent()

    def write(self, version: int, data: bytes, txn_id: str, before: TableState | None) -> Owner:  # noqa: ARG002
        """Try to create the commit file."""
        path = commit_name(version)
        owner: Owner = "absent"
        self.in_doubt = True
        for resend in range(TRIES):
            if resend:
                self._context.sleep(PAUSE * resend)
            try:
                self._store.put_if_absent(path, data)
                owner = "ours"
            except FileExistsError:
                owner = self._whose(path, version, txn_id)
            except StorageError as error:
                if error.unwritten and owner == "absent" and not resend:
                    self.in_doubt = False
                    raise
                self._check_full(path, data)
                owner = self._whose(path, version, txn_id)
                if owner == "ours":
                    self.notes.append("The store's answer was lost; the log shows that the commit is there.")
            if owner in {"ours", "theirs"}:
                self.in_doubt = False
                break
        return owner

    def publish(self, version: int) -> bool:  # noqa: ARG002 - its file is in the log
        """Return True: a file of the log is published."""
        return True

    def _check_full(self, path: str, data: bytes) -> None:
        """Refuse to continue if the store has only the beginning of the commit."""
        try:
            stored = self._store.read(path)
        except (FileNotFoundError, StorageError):
            return
        if len(stored) < len(data) and data.startswith(stored):
            raise StorageError(
                f"{path} holds only the first {len(stored):,} of the {len(data):,} bytes that were written there: "
                "the store cut the commit off. Check the store, verify the log, and delete that file before the change "
                "is planned again.",
                path=path,
            )

    def _whose(self, path: str, version: int, txn_id: str) -> Owner:
        """Return whose commit a file is."""
        try:
            data = self._store.read(path)
        except FileNotFoundError:
            return "absent"
        except StorageError:
            return "unknown"
        commit = decode_commit(data, version, path)
        if not holds_transaction(commit, txn_id):
            return "theirs"
        self.logged = commit  # it may be from an earlier try, which wrote files of its own
        return "ours"
