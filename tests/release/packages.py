"""What the wheel and the sdist must hold."""

from __future__ import annotations

import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from explorer.version import VERSION
from tests.support.shared_tables import REPOSITORY

_TARGET = re.compile(r"\]\(([^)\s]+)\)")


def faults(wheel: Path, sdist: Path, from_the_clone: Path) -> list[str]:
    """What is wrong with the packages, a sentence each; empty if nothing is.

    Args:
        wheel: The wheel, built from the sdist.
        sdist: The source distribution.
        from_the_clone: The wheel built without the sdist.
    """
    return [*_wheel_faults(wheel), *_sdist_faults(sdist), *_differences(wheel, from_the_clone)]


def _wheel_faults(wheel: Path) -> Iterator[str]:
    held = _contents(wheel)
    for name in sorted(tracked("explorer") - held.keys()):
        yield f"{name} is not in the wheel."
    for name in sorted(held):
        if not name.startswith(("explorer/", f"delta_table_explorer-{VERSION}.dist-info/")):
            yield f"{name} does not belong in the wheel."
    metadata = BytesParser().parsebytes(held[f"delta_table_explorer-{VERSION}.dist-info/METADATA"])
    yield from index_faults(metadata)


def index_faults(metadata: Message) -> Iterator[str]:
    """What the package index would show wrongly."""
    if metadata["Version"] != VERSION:
        yield f"The version of the wheel is {metadata['Version']}, not {VERSION}."
    if metadata["Description-Content-Type"] != "text/markdown":
        yield "The description of the wheel is not Markdown."
    text = str(metadata.get_payload())
    if "delta-explorer" not in text:
        yield "The description of the wheel is not the README."
    for target in _TARGET.findall(text):
        if not target.startswith(("https://", "http://", "#")):
            yield f"The link {target} of the README is dead on the package index."
    if len(metadata.get_all("License-File") or ()) < 2:
        yield "The wheel lacks a license file."


def _sdist_faults(sdist: Path) -> Iterator[str]:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    for name in sorted(tracked("explorer", "tests", "docs", "README.md", "LICENSE", "hatch_build.py") - held):
        yield f"{name} is not in the sdist."


def _differences(wheel: Path, other: Path) -> Iterator[str]:
    one, two = _contents(wheel), _contents(other)
    for name in sorted(name for name in one.keys() | two.keys() if one.get(name) != two.get(name)):
        yield f"{name} is not the same in the wheel of the sdist and in that of the clone."


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def tracked(*paths: str) -> set[str]:
    """The files of the repository below some paths, those not added yet included."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *paths],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {name for name in listed.stdout.splitlines() if (REPOSITORY / name).is_file()}
