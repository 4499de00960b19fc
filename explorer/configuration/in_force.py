"""The configuration in force: that of the command that runs, otherwise the one that this process finds.

A key that has an environment variable is put there, so that processes that this one starts know it too. Invariants: a
variable that was set before precedes the file; what a command sets is taken back when it ends; a sign-in of the file
goes to the catalog of the file alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from explorer.configuration.place import configuration_place
from explorer.debug import DEBUG_VARIABLE
from explorer.variables import CACHE_VARIABLE, CONFIG_VARIABLE, OFF

if TYPE_CHECKING:
    from explorer.configuration.reading import ConfigurationFile
    from explorer.configuration.records import UnityCatalog


@dataclass(frozen=True, slots=True)
class InForce:
    """A configuration in force.

    Attributes:
        file: The configuration file; None if there is none.
        storage_options: Those of the command line.
    """

    file: ConfigurationFile | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


_Stamp = tuple[str, int, int] | None
_commands: Final[list[InForce]] = []
_lock: Final = threading.RLock()


class _OwnFile:
    """The file that this process found, with what it set."""

    def __init__(self) -> None:
        self._stamp: _Stamp = None
        self._set: dict[str, str] = {}
        self.now = InForce()

    def refresh(self) -> InForce:
        """Read the file if it is another one than before, or was changed, and set its variables."""
        path = configuration_place()
        stamp = None if path is None else _stamp_of(path)
        if stamp != self._stamp:
            self.withdraw()
            if path is not None:
                from explorer.configuration.reading import read_configuration

                file = read_configuration(path)
                self._set = _added(file)
                os.environ.update(self._set)
                self.now = InForce(file)
            self._stamp = stamp
        return self.now

    def withdraw(self) -> None:
        """Take back the variables that it set and that nobody changed since."""
        for name, value in self._set.items():
            if os.environ.get(name) == value:
                del os.environ[name]
        self._stamp, self._set, self.now = None, {}, InForce()


_own: Final = _OwnFile()


def in_force() -> InForce:
    """Return the configuration of the command that runs; in a Python program, that of the file it finds.

    The file that a Python program finds is put in force at the first call, and again when it was changed.

    Raises:
        InvalidConfiguration: That file cannot be read, or is not valid.
    """
    if _commands:
        return _commands[-1]
    with _lock:
        return _own.refresh()


@contextmanager
def using(file: ConfigurationFile | None, storage_options: Mapping[str, str]) -> Iterator[None]:
    """Put a configuration in force for a command.

    Args:
        file: The file; None for none.
        storage_options: Those of the command line.
    """
    with _lock:
        _own.withdraw()
    # Processes that the command starts read the same file.
    before = os.environ.get(CONFIG_VARIABLE)
    added = {} if file is None else _added(file)
    os.environ.update(added)
    os.environ[CONFIG_VARIABLE] = OFF if file is None or file.path is None else file.path
    _commands.append(InForce(file, storage_options))
    try:
        yield
    finally:
        _commands.pop()
        os.environ.pop(CONFIG_VARIABLE)
        if before is not None:
            os.environ[CONFIG_VARIABLE] = before
        # An error is shown after this; what ends the command takes that variable back.
        for name in set(added) - {DEBUG_VARIABLE}:
            os.environ.pop(name, None)


def spark_settings() -> dict[str, str]:
    """Return the settings of Spark in the configuration."""
    file = in_force().file
    return {} if file is None else texts_of(file.values.spark.conf)


def texts_of(options: Mapping[str, object]) -> dict[str, str]:
    """Return options as stores and Spark take them."""
    return {name: text_of(value) for name, value in options.items()}


def text_of(value: object) -> str:
    """Return the value of an option as stores and Spark take it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def variable_text(value: object) -> str | None:
    """Return what a variable holds for the value of its key; None if it is not set."""
    if value is None or value is False or value == ():
        return None
    if isinstance(value, tuple):
        return os.pathsep.join(value)
    return "1" if value is True else str(value)


def catalog_in_force(values: UnityCatalog) -> UnityCatalog:
    """Return the keys of the catalog that count: the environment may name another server, or another sign-in."""
    from explorer.configuration.records import SIGN_IN, UnityCatalog
    from explorer.variables import UNITY_VARIABLES

    def overridden(key: str) -> bool:
        named = os.environ.get(UNITY_VARIABLES[key])
        return bool(named) and named != variable_text(getattr(values, key))

    if overridden("url"):
        return UnityCatalog()
    if any(overridden(key) for key in SIGN_IN):
        kept = {key: getattr(values, key) for key in values.__struct_fields__ if key not in SIGN_IN}
        return UnityCatalog(**kept)
    return values


def _added(file: ConfigurationFile) -> dict[str, str]:
    """Return the environment variables that a file sets: those that are not set yet."""
    from explorer.configuration.records import VARIABLES

    variables = dict[str, str]()
    for key, variable in VARIABLES.items():
        owner: Any = file.values
        for name in key[:-1]:
            owner = getattr(owner, str(name))
        if key[0] == "unity_catalog":
            owner = catalog_in_force(owner)
        text = variable_text(getattr(owner, str(key[-1])))
        if text is not None:
            variables[variable] = text
    if not file.values.cache.enabled:
        variables[CACHE_VARIABLE] = OFF
    return {name: value for name, value in variables.items() if not os.environ.get(name)}


def _stamp_of(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return str(path), 0, 0  # reading it says why
    return str(path), status.st_mtime_ns, status.st_size
