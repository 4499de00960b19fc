"""Spark as the row engine of commits: the one implementation of `explorer.core.transaction.row_engine`.

Invariants: nothing of Spark is imported or started before a method is called; a commit's expressions may depend on the
time or the session, as CHECK constraints of the reference may; no exception of Spark or of its Java leaves the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from explorer.spark.engine.session import require_pyspark

if TYPE_CHECKING:
    from explorer.core.transaction.row_engine import RowEngine
    from explorer.spark import row_functions

    # The type checker compares the signature of each function with that of the method.
    _checked: RowEngine = row_functions


def spark_row_engine() -> RowEngine:
    """Return the engine that uses the session of this process, which starts at the first call of a method."""
    return cast("RowEngine", _LazyRowEngine())


class _LazyRowEngine:
    """The functions of `explorer.spark.row_functions`, imported at the first use of one."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        require_pyspark()
        from explorer.spark import row_functions

        return _typed(getattr(row_functions, name))


def _typed(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose exceptions out of Spark are this program's typed errors."""
    from explorer.spark.engine.failures import PLANNING_ERRORS, failure_of

    @wraps(call)
    def typed(*arguments: Any, **options: Any) -> Any:
        try:
            return call(*arguments, **options)
        except PLANNING_ERRORS as error:
            raise failure_of(error) from error

    return typed
