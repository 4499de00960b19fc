"""The file of names and hashed passwords that ``delta-explorer passwd`` writes: ``{"ana": "$argon2id$…"}``.

It is read again when it changes. A file that cannot be read, or that others may read, changes nothing: the last good
state stays, and the log contains the reason.
"""

from __future__ import annotations

import errno
import hmac
import json
import logging
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

from explorer.core.errors import RequestError
from explorer.storage.atomic_write import atomic_write, flush_folder

_log = logging.getLogger(__name__)
_HASHER: Final = PasswordHasher()
_LONGEST_NAME: Final = 200
_LONGEST_PASSWORD: Final = 1_000
_LARGEST_FILE: Final = 4 * 1024 * 1024
# A pipe in the place of the file would otherwise keep the server waiting for a writer.
_READ_ONLY: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
_ANY_HASH: Final = _HASHER.hash(os.urandom(24))
_SECRET: Final = os.urandom(24)


class PasswordFile:
    """The people who may sign in.

    Raises:
        RequestError: If it cannot be read, if others may read it, or if a password in it is not hashed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # Replaced whole, because the loop and the threads that check passwords read it.
        self._seen = _stamp(path), _read(path)

    def hash_of(self, name: str) -> str | None:
        """Return the current hash of a person's password; None if the person may not sign in."""
        return self._current().get(name)

    def has(self, name: str) -> bool:
        """Return whether a person may sign in now."""
        return self.hash_of(name) is not None

    def verified(self, name: str, password: str) -> str | None:
        """Return the hash of a person's password if it is the right one; takes tens of milliseconds in any case."""
        users = self._current()
        known = users.get(name)
        try:
            _HASHER.verify(known or _stand_in(users, name), password[: _LONGEST_PASSWORD + 1])
        except (VerificationError, InvalidHashError):
            return None
        return known

    def _current(self) -> Mapping[str, str]:
        stamp, (seen, users) = _stamp(self._path), self._seen
        if stamp != seen:
            try:
                users = _read(self._path)
            except RequestError as error:
                _log.error("The users stay as they were. %s", error)  # the message is complete
            self._seen = stamp, users
        return users


def _stand_in(users: Mapping[str, str], name: str) -> str:
    """Return the hash that is checked in vain for an unknown name, so that it takes as much time as a known one.

    It is that of a person in the file, and always the same one: hashes of one file can differ in their cost.
    """
    hashes = list(users.values())
    number = int.from_bytes(hmac.digest(_SECRET, name.encode("utf-8", "surrogatepass"), "sha256")[:8])
    return hashes[number % len(hashes)] if hashes else _ANY_HASH


def write_user(path: Path, name: str, password: str) -> None:
    """Add a person to a file, or change the person's password; the file is created if it does not exist.

    Raises:
        RequestError: If the name or the password is invalid, or the file cannot be read or written.
    """
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise RequestError(
            f"A name has 1 to {_LONGEST_NAME} printable characters, without spaces around it. Choose another name.",
            field="name",
        )
    if not password or len(password) > _LONGEST_PASSWORD:
        raise RequestError(
            f"A password has 1 to {_LONGEST_PASSWORD:,} characters. Choose another one.", field="password"
        )
    users = _content(path) if path.exists() else {}
    _write(path, {**users, name: _HASHER.hash(password)})


def remove_user(path: Path, name: str) -> None:
    """Remove a person from a file.

    Raises:
        RequestError: If the file does not contain the person, or cannot be read or written.
    """
    users = _content(path)
    if name not in users:
        raise RequestError(f"{path} does not contain the name {name!r}. It contains {len(users)} names.", field="name")
    _write(path, {known: text for known, text in users.items() if known != name})


def _write(path: Path, users: Mapping[str, str]) -> None:
    target = str(path.absolute())
    try:
        with atomic_write(target, mode=0o600) as file:
            file.write(json.dumps(users, ensure_ascii=False, indent=2).encode() + b"\n")
        flush_folder(os.path.dirname(target))
    except OSError as error:
        raise RequestError(f"The password file {path} cannot be written: {error}.", path=str(path)) from error


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _read(path: Path) -> Mapping[str, str]:
    """Return the hashes by name, of a file that only its owner may read."""
    users, status = _opened(path)
    mode = stat.S_IMODE(status.st_mode)
    if mode & 0o077:
        raise RequestError(
            f"Other users of this machine can open the password file {path} (its mode is {mode:03o}). Run: "
            f"chmod 600 {path}",
            path=str(path),
        )
    if status.st_uid not in (0, os.geteuid()):
        raise RequestError(
            f"The password file {path} belongs to another user of this machine (user {status.st_uid}), who can change "
            f"it. Run: chown {os.geteuid()} {path}",
            path=str(path),
        )
    for name, text in users.items():
        if not _is_hash(text):
            raise RequestError(
                f"The password of {name!r} in {path} is not hashed. Run: delta-explorer passwd {path} {name}",
                path=str(path),
            )
    return MappingProxyType(users)


def _content(path: Path) -> dict[str, str]:
    return _opened(path)[0]


def _opened(path: Path) -> tuple[dict[str, str], os.stat_result]:
    """Return the content of a file, and the status of that same file, even if another one takes its name meanwhile."""
    try:
        handle = os.open(path, _READ_ONLY)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is not a file, but a folder, a pipe, or a device")
            with open(handle, "rb", closefd=False) as file:
                text = file.read(_LARGEST_FILE + 1)
        finally:
            os.close(handle)
        if len(text) > _LARGEST_FILE:
            raise RequestError(f"The password file {path} is larger than {_LARGEST_FILE:,} bytes.", path=str(path))
        users = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise RequestError(
            f"The password file {path} cannot be read: {error}. To make one, run: delta-explorer passwd {path} NAME",
            path=str(path),
        ) from error
    if not isinstance(users, dict) or not all(isinstance(text, str) for text in users.values()):
        raise RequestError(
            f"The password file {path} must contain a JSON object of names and hashed passwords. To make one, run: "
            f"delta-explorer passwd {path} NAME",
            path=str(path),
        )
    return users, status


def _is_hash(text: str) -> bool:
    try:
        return text.startswith("$argon2id$") and extract_parameters(text).hash_len > 0
    except InvalidHashError:
        return False
