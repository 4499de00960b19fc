"""Decorators of methods that raise errors: the table's location is added, and missing files are recorded.

Invariants: an error that has a table already keeps it; a file is known as missing only after a check that it is not
there, whatever an error states.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from explorer.core.errors import ChangeFeedGap, ExplorerError, StorageError
from explorer.core.log.log_path import LOG_FOLDER
from explorer.core.protocol.file_paths import canonical_key

_T = TypeVar("_T")
_P = ParamSpec("_P")


class HasLocation(Protocol):
    """An object with the root of its table as a URL."""

    @property
    def location(self) -> str:
        """The table's root."""


_Located = TypeVar("_Located", bound=HasLocation)


def located(method: Callable[Concatenate[_Located, _P], _T]) -> Callable[Concatenate[_Located, _P], _T]:
    """Put the table's location into every error that a method raises."""

    @wraps(method)
    def call(self: _Located, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except ExplorerError as error:
            error.table = error.table or self.location
            raise

    return call


class Learner(Protocol):
    """An object that records failures."""

    def learn(self, error: BaseException | None) -> None:
        """Check and record the missing file that a failure names."""


_Reader = TypeVar("_Reader", bound=Learner)


def learning(method: Callable[Concatenate[_Reader, _P], _T]) -> Callable[Concatenate[_Reader, _P], _T]:
    """Pass each failure of a method that reads data files to its object."""

    @wraps(method)
    def call(self: _Reader, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return method(self, *args, **kwargs)
        except ExplorerError as error:
            self.learn(error)
            raise

    return call


def data_file_of(error: BaseException | None) -> str | None:
    """Return the decoded location of the data file that a failure names; None if it names none."""
    path = error.path if isinstance(error, StorageError | ChangeFeedGap) else None
    return None if path is None or path.startswith(f"{LOG_FOLDER}/") else canonical_key(path)
