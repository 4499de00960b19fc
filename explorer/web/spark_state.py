"""What Spark says at once of an expression, if it is there; nothing here starts it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from explorer.core.errors import ExpressionRefused, InvalidIntent
from explorer.views.rows.spark_work import engine_state

__all__ = ["refused_rule"]


def refused_rule(snapshot: Any, expressions: Iterable[str]) -> InvalidIntent | None:
    """Return why Spark would refuse to hold an expression against rows; None if it does not, or is not running."""
    if engine_state()["state"] != "ready":
        return None
    from explorer.spark.scan.predicate import vet

    for expression in expressions:
        try:
            vet(snapshot.schema, expression, repeatable=False)
        except ExpressionRefused as error:
            return InvalidIntent(error.message, field="expression")
    return None
