"""Files that a command reads and writes whole, such as reports and case files, with errors that name them."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from explorer import formatting as fmt
from explorer.cli.output import note
from explorer.core.errors import RequestError, StorageError
from explorer.core.protocol import limits
from explorer.storage.atomic_write import atomic_write
from explorer.system import set_limits

if TYPE_CHECKING:
    from explorer.report.case_file import CaseFile
    from explorer.report.signature import SigningKey

PASSPHRASE: Final = "DELTA_EXPLORER_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable
"""The environment variable that holds the passphrase of a key."""


def check_place(path: Path) -> None:
    """Refuse a place where no file can be, before anything is read.

    Raises:
        RequestError: The place is a folder, or its folder does not exist.
    """
    if os.path.isdir(path):
        raise RequestError(f"{path} cannot be written: it is a folder. Name a file in it.", path=str(path))
    folder = path.absolute().parent
    if not os.path.isdir(folder):
        raise RequestError(
            f"{path} cannot be written: there is no folder {folder}. Create it, or name a file in another folder.",
            path=str(path),
        )


def read_whole(path: Path | None) -> bytes:
    """Read a file that was given to a command, such as an intent, a case file, a plan or a report.

    Args:
        path: The file; None for standard input.

    Raises:
        RequestError: It cannot be read, or a limit is not a number.
        LimitExceeded: It is longer, or has more JSON values, than is read.
    """
    set_limits()
    most, name = limits.MAX_DECODED_BYTES, "Standard input" if path is None else str(path)
    try:
        if path is None:
            data = sys.stdin.read(most + 1).encode(errors="surrogatepass")
        else:
            with path.open("rb") as file:
                data = file.read(most + 1)
    except OSError as error:
        raise RequestError(f"{name} cannot be read: {error.strerror}.", path=name) from error
    limits.check_input(name, len(data))
    limits.check_json_values(data, name)
    return data


def save_whole(path: Path, data: bytes) -> None:
    """Write a file; it appears whole or not at all.

    Raises:
        StorageError: It cannot be written.
    """
    try:
        with atomic_write(str(path)) as file:
            file.write(data)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.", path=str(path)) from error


def signature_of(path: Path) -> Path:
    """Return the place of the signature of a file."""
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
        signature_file = signature_of(path)
        save_whole(signature_file, key.sign(data))
        note(f"Wrote {signature_file}, with the key {key.signer.fingerprint}.")


def signing_key(file: Path | None) -> SigningKey | None:
    """Read the key to sign with, if one is named; its passphrase comes from the environment, or is asked for.

    Raises:
        RequestError: It is no key, or the passphrase is missing or wrong.
        EngineUnavailable: A package is missing.
    """
    if file is None:
        return None
    from explorer.report.signature import read_key

    data, public = read_whole(file), _public(file)
    given = os.environ.get(PASSPHRASE)
    try:
        return read_key(data, given.encode() if given else None).named_by(public)
    except RequestError as error:
        if error.field != "passphrase" or given or not sys.stdin.isatty():
            raise
    passphrase: str = typer.prompt(f"Passphrase of {file}", hide_input=True, err=True)
    return read_key(data, passphrase.encode()).named_by(public)


def _public(key: Path) -> bytes:
    """Return the public key beside a private one; it names the owner."""
    public = key.with_name(key.name + ".pub")
    return read_whole(public) if public.is_file() else b""


def read_case_file(path: Path) -> CaseFile:
    """Read a case file."""
    from explorer.report.case_file import read_case

    return read_case(read_whole(path), str(path))
