"""What a session sends to its workers: this program, and the compiled packages of its tasks where they are absent.

Invariants: each is sent once to a session; the program goes with its packages of plain Python, and nothing of it need
be installed on a worker; compiled packages are those of this process, so they go only to workers of the same kind.
"""

from __future__ import annotations

import atexit
import functools
import importlib.metadata
import os
import shutil
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from explorer.spark.engine.session import is_connect

COMPILED: Final = ("msgspec", "numpy", "obstore", "pyarrow", "pyroaring")
"""Packages with machine code that the tasks import."""
_PLAIN: Final = ("platformdirs",)
# Rooms that the tasks do not need: pages, notebooks, figures, the demo.
_LEFT_OUT: Final = frozenset({"cli", "demo", "jupyter", "views", "web", "__pycache__"})
# Parts of packages that only compilers and testers read.
_UNUSED: Final = frozenset({"include", "tests", "__pycache__"})
_FOLDER: Final = "explorer-packages"
_equipped: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def equip(session: Any) -> None:
    """Send this program to the workers, once for each session."""
    if session in _equipped:
        return
    if is_connect(session):
        session.addArtifacts(package(), pyfile=True)
    else:
        session.sparkContext.addPyFile(package())
    _equipped.add(session)


@functools.cache
def package() -> str:
    """Return the program as a zip file; it lives as long as this process."""
    target = os.path.join(_folder(), "explorer.zip")
    root = Path(__file__).resolve().parents[2]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as package:
        for file in sorted(root.rglob("*")):
            inside = file.relative_to(root)
            if file.is_file() and not _LEFT_OUT.intersection(inside.parts):
                package.write(file, str(Path("explorer") / inside))
        for name, source in _files(_PLAIN):
            package.write(source, name)
    return target


def send_packages(session: Any) -> None:
    """Send the compiled packages of this process to the workers of a classic session.

    They are on the search path of tasks that begin later.

    Raises:
        PackageNotFoundError: One is not installed here as a package.
        OSError: They cannot be read, or there is no room for the archive.
    """
    context = session.sparkContext
    context.addArchive(f"{_packages()}#{_FOLDER}")
    if _FOLDER not in context._python_includes:
        # The folders below that of the session's files that Spark puts on the search path of a worker.
        context._python_includes.append(_FOLDER)


@functools.cache
def _packages() -> str:
    """Return the compiled packages as an archive; it lives as long as this process."""
    target = os.path.join(_folder(), f"{_FOLDER}.tar.gz")
    with tarfile.open(target, "w:gz", compresslevel=1) as archive:
        for inside, file in _files(COMPILED):
            archive.add(file, inside)
    return target


def _files(packages: tuple[str, ...]) -> Iterator[tuple[str, Path]]:
    """Yield the files of installed packages: their paths where they are imported from, and here."""
    for package in packages:
        for file in importlib.metadata.distribution(package).files or ():
            if ".." not in file.parts and not _UNUSED.intersection(file.parts):
                yield file.as_posix(), Path(str(file.locate()))


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="delta-table-explorer-package-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
