"""The files beside a report: read and written whole, with errors that name them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from explorer import formatting as fmt
from explorer.cli.output import note
from explorer.cli.output_place import check_place
from explorer.core.errors import RequestError, StorageError
from explorer.core.protocol.limits import check_json_values
from explorer.storage.written_aside import written_aside

if TYPE_CHECKING:
    from explorer.auditing.report.case_file import CaseFile
    from explorer.auditing.report.signature import SigningKey

__all__ = [
    "PASSPHRASE",
    "check_signed_place",
    "read_case_file",
    "read_whole",
    "save_signed",
    "save_whole",
    "signature_of",
    "signing_key",
]

_MOST_BYTES: Final = 1 << 26

PASSPHRASE: Final = "DELTA_EXPLORER_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable
"""The environment variable that holds the passphrase of a key."""


def read_whole(path: Path) -> bytes:
    """Read a file.

    Raises:
        RequestError: It cannot be read, or is too much to be a report or a case file.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}.", path=str(path)) from error
    if len(data) > _MOST_BYTES:
        raise RequestError(
            f"{path} has more than {_MOST_BYTES:,} bytes, the most that are read. Name a report or a case file.",
            path=str(path),
        )
    check_json_values(data, str(path))
    return data


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


def check_signed_place(path: Path, key: Path | None) -> None:
    """Refuse a place where no report can be, or no signature beside it if there is a key to sign with.

    Raises:
        RequestError: One of the places is a folder, or their folder does not exist.
    """
    check_place(path)
    if key is not None:
        check_place(signature_of(path))


def save_signed(path: Path, data: bytes, digest: str, key: SigningKey | None) -> None:
    """Write a report, and its signature beside it if there is a key; say so.

    Raises:
        StorageError: One of them cannot be written.
    """
    save_whole(path, data)
    note(f"Wrote {path}, {fmt.size(len(data))}, digest {digest}.")
    if key is not None:
        beside = signature_of(path)
        save_whole(beside, key.sign(data))
        note(f"Wrote {beside}, with the key {key.signer.fingerprint}.")


def signing_key(file: Path | None) -> SigningKey | None:
    """Read the key to sign with, if one is named; its passphrase comes from the environment, or is asked for.

    Raises:
        RequestError: It is no key, or the passphrase is missing or wrong.
        EngineUnavailable: A package is missing.
    """
    if file is None:
        return None
    from explorer.auditing.report.signature import read_key

    data, comment = read_whole(file), _comment(file)
    given = os.environ.get(PASSPHRASE)
    try:
        return read_key(data, given.encode() if given else None, comment)
    except RequestError as error:
        if error.field != "passphrase" or given or not sys.stdin.isatty():
            raise
    asked: str = typer.prompt(f"Passphrase of {file}", hide_input=True, err=True)
    return read_key(data, asked.encode(), comment)


def _comment(key: Path) -> str:
    """What the public key beside a private one says of its owner."""
    public = key.with_name(key.name + ".pub")
    if not public.is_file():
        return ""
    return " ".join(read_whole(public).decode(errors="replace").split()[2:])


def read_case_file(path: Path) -> CaseFile:
    """Read a case file."""
    from explorer.auditing.report.case_file import read_case

    return read_case(read_whole(path), str(path))
