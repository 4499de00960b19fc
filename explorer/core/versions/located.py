"""The table's location, added to each error once, where it leaves the log.

Invariant: an error that has a table already keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from explorer.core.errors import ExplorerError

__all__ = ["HasLocation", "located"]

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
