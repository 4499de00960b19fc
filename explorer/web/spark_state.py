"""What Spark is at, for the pages, and what it says at once if it is there; nothing here starts it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from explorer.core.errors import ExpressionRefused, InvalidIntent

__all__ = ["engine_state", "refused_rule"]


def engine_state() -> dict[str, str]:
    """Return the engine's state and a sentence on it."""
    try:
        from explorer.spark.session import engine
    except ImportError:
        return {"state": "off", "detail": "PySpark is not installed."}
    current = engine()
    return {"state": current.state, "detail": current.detail}


def refused_rule(snapshot: Any, expressions: Iterable[str]) -> InvalidIntent | None:
    """Return why Spark would refuse to hold an expression against rows; None if it does not, or is not running."""
    if engine_state()["state"] != "ready":
        return None
    from explorer.spark.predicate import vet

    for expression in expressions:
        try:
            vet(snapshot.schema, expression, repeatable=False)
        except ExpressionRefused as error:
            return InvalidIntent(error.message, field="expression")
    return None
